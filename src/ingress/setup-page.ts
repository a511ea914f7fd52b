/** Without an App: Probot's set-up page, which registers one from `app.yml` and writes its credentials into `.env`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { run } from 'probot';
import type { ServiceSettings } from '../config/service-settings.js';
import { UserError } from '../domain/errors.js';
import { quietLog } from './quiet-log.js';
import { WEBHOOK_PATH } from './routes.js';

/** Whatever HOST says: who reaches this page decides whose App this service becomes. */
const LOOPBACK = '127.0.0.1';

export interface SetupDeps {
  readonly settings: Pick<ServiceSettings, 'server' | 'logLevel'>;
  readonly log: Logger;
  /** Directory of `app.yml` and `.env`; Probot reads `app.yml` from the working directory. */
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
  const server = await run(() => undefined, {
    env: { HOST: LOOPBACK, PORT: String(settings.server.port), LOG_LEVEL: settings.logLevel },
    log: quietLog(log),
    updateEnv: (values) => saveCredentials(envFile, values),
    // Probot would download a client for a public relay and open a channel there without asking.
    SmeeClient: { createChannel: () => Promise.resolve(undefined) },
  });
  return {
    host: server.host,
    port: server.port,
    stop: () => {
      forget();
      return server.stop();
    },
  };
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
