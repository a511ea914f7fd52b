/** The service's HTTP server: Probot's, with Hasten's own routes in place of Probot's webhook middleware. */
import type { Server as HttpServer } from 'node:http';
import { type Logger, pino } from 'pino';
import { Probot, Server } from 'probot';
import type { ServiceSettings } from '../config/service-settings.js';
import type { Inbox } from '../domain/delivery.js';
import type { HealthReport } from './health-handler.js';
import { quietLog } from './quiet-log.js';
import { Routes, WEBHOOK_PATH } from './routes.js';
import { startSetupPage } from './setup-page.js';

export interface IngressDeps {
  readonly settings: Pick<
    ServiceSettings,
    'app' | 'github' | 'server' | 'allowedAccounts' | 'alertSources' | 'logLevel'
  >;
  /** Wakes the engine itself when it has stored something. */
  readonly inbox: Inbox;
  readonly health: () => Promise<HealthReport>;
  readonly log?: Logger;
  /** Epoch milliseconds; the clock when left out. */
  readonly now?: () => number;
}

export interface Ingress {
  /** `setup`: no App yet, only the set-up page is served, on loopback. */
  readonly mode: 'service' | 'setup';
  readonly host: string;
  readonly port: number;
  /** Takes no new requests, finishes those in flight; what is left after `graceMs` is cut off. */
  stop(graceMs?: number): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 10_000;
/** GitHub itself gives up after 10 seconds. */
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_CONNECTIONS = 1000;
const DEFAULT_GRACE_MS = 10_000;
const IDLE_SWEEP_MS = 50;

/** Starts to listen. Without an App in the settings, Probot's set-up page is served instead. */
export async function startIngress(deps: IngressDeps): Promise<Ingress> {
  const log = deps.log ?? pino({ name: 'hasten', level: deps.settings.logLevel });
  const { app, github, server: listen } = deps.settings;
  if (app === null) {
    return {
      mode: 'setup',
      ...(await startSetupPage({ settings: deps.settings, log, health: deps.health })),
    };
  }
  const probotOptions = {
    appId: app.id,
    privateKey: app.privateKey,
    secret: app.webhookSecret,
    baseUrl: github.apiUrl,
    log: quietLog(log),
  };
  const server = new Server({
    host: listen.host,
    port: listen.port,
    log: quietLog(log),
    webhookPath: WEBHOOK_PATH,
    enableNotFound: false,
    Probot: withoutOwnMiddleware(probotOptions),
  });
  const routes = new Routes({ ...deps, log });
  await server.load((probot, { addHandler }) => {
    routes.verify = (body, signature) => probot.webhooks.verify(body, signature);
    addHandler((request, response) => routes.handle(request, response));
  });
  const http = await server.start();
  http.headersTimeout = HEADERS_TIMEOUT_MS;
  http.requestTimeout = REQUEST_TIMEOUT_MS;
  http.maxConnections = MAX_CONNECTIONS;
  return {
    mode: 'service',
    host: server.host,
    port: server.port,
    stop: (graceMs = DEFAULT_GRACE_MS) => {
      routes.stopping = true;
      return stopServer(server, http, graceMs);
    },
  };
}

/**
 * Probot puts its own webhook middleware before every added handler. It would take the body without a bound, and log
 * it whole when the signature is bad, so it is replaced by one that leaves every request to the next handler.
 */
function withoutOwnMiddleware(options: ConstructorParameters<typeof Probot>[0]): typeof Probot {
  return class extends Probot {
    constructor(serverOptions: ConstructorParameters<typeof Probot>[0]) {
      super({ ...serverOptions, ...options });
    }

    override getNodeMiddleware(): ReturnType<Probot['getNodeMiddleware']> {
      return Promise.resolve(() => Promise.resolve(false));
    }
  };
}

async function stopServer(server: Server, http: HttpServer, graceMs: number): Promise<void> {
  const cut = setTimeout(() => http.closeAllConnections(), graceMs);
  // A connection that is kept alive becomes idle after its last answer, and would hold the server open.
  const sweep = setInterval(() => http.closeIdleConnections(), IDLE_SWEEP_MS);
  try {
    await server.stop();
  } finally {
    clearTimeout(cut);
    clearInterval(sweep);
  }
}
