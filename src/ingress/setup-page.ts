/** Without an App: Probot's set-up page, which registers one from `app.yml` and writes its credentials into `.env`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { Probot, run } from 'probot';
import type { ServiceSettings } from '../config/service-settings.js';
import { UserError } from '../domain/errors.js';
import { type HealthReport, handleHealth, SharedHealth } from './health-handler.js';
import { pathOf } from './http-answer.js';
import { quietLog } from './quiet-log.js';
import { WEBHOOK_PATH } from './routes.js';

/** Whatever HOST says: who reaches this page decides whose App this service becomes. */
const LOOPBACK = '127.0.0.1';
/** Where `app.yml` stands, from `src/ingress` and `dist/ingress` alike. */
const PACKAGE_ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface SetupDeps {
  readonly settings: Pick<ServiceSettings, 'server' | 'logLevel'>;
  readonly log: Logger;
  readonly health: () => Promise<HealthReport>;
  /** Directory of `.env`; the working directory when left out. */
  readonly directory?: string;
}

export interface SetupPage {
  readonly host: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** Serves the set-up page on loopback until `stop`. Throws UserError `SETUP_IN_PRODUCTION`. */
export async function startSetupPage(deps: SetupDeps): Promise<SetupPage> {
  const { settings, log } = deps;
  if (process.env.NODE_ENV === 'production') {
    throw new UserError({
      code: 'SETUP_IN_PRODUCTION',
      message:
        'APP_ID and PRIVATE_KEY are not set, and with NODE_ENV=production there is no set-up page: set them, or start once without NODE_ENV to register the App.',
    });
  }
  const forget = announce(settings.server.publicUrl, log);
  const envFile = resolve(deps.directory ?? process.cwd(), '.env');
  // Probot reads the manifest from the working directory; without it, it would register a public App that may do nothing.
  if (!existsSync('app.yml')) process.chdir(PACKAGE_ROOT);
  const server = await withHealth(new SharedHealth(deps.health, Date.now), () =>
    run(() => undefined, {
      env: { HOST: LOOPBACK, PORT: String(settings.server.port), LOG_LEVEL: settings.logLevel },
      log: quietLog(log),
      updateEnv: (values) => saveCredentials(envFile, values),
      // Probot would download a client for a public relay and open a channel there without asking.
      SmeeClient: { createChannel: () => Promise.resolve(undefined) },
    }),
  );
  return {
    host: server.host,
    port: server.port,
    stop: () => {
      forget();
      return server.stop();
    },
  };
}

/**
 * Probot's server in set-up mode takes no handlers of ours, but puts the webhook middleware of its Probot before its
 * own; no webhook can come yet, so that place answers `/health` instead.
 */
async function withHealth<T>(health: SharedHealth, start: () => Promise<T>): Promise<T> {
  const { getNodeMiddleware } = Probot.prototype;
  Probot.prototype.getNodeMiddleware = async () => async (request, response) => {
    if (pathOf(request.url) !== '/health') return false;
    await handleHealth(request, response, health);
    return true;
  };
  try {
    return await start();
  } finally {
    Probot.prototype.getNodeMiddleware = getNodeMiddleware;
  }
}

/** Tells Probot the webhook's address for the manifest; gives what takes it back. */
function announce(publicUrl: string | null, log: Logger): () => void {
  if (publicUrl === null) {
    log.warn(
      'HASTEN_PUBLIC_URL is not set: GitHub refuses a webhook address that it cannot reach. Set it to the address of this service as GitHub sees it (https://hasten.example.org), or change the address on the page of the App afterwards.',
    );
    return () => undefined;
  }
  // Probot takes the address for the manifest from here, and nothing else reads it in this mode.
  process.env.WEBHOOK_PROXY_URL = `${publicUrl}${WEBHOOK_PATH}`;
  return () => {
    delete process.env.WEBHOOK_PROXY_URL;
  };
}

/** Adds what GitHub gave to `.env`, readable by the owner only. Returns the values, as Probot expects. */
function saveCredentials(path: string, values: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const lines = Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${value.replace(/\r?\n/g, '\\n')}`],
  );
  if (lines.length === 0) return values;
  const kept = (existsSync(path) ? readFileSync(path, 'utf8') : '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !Object.keys(values).some((key) => line.startsWith(`${key}=`)));
  writeFileSync(path, `${[...kept, ...lines].join('\n')}\n`, { mode: 0o600 });
  return values;
}
