/** Entry of the service: settings from the environment, the log, signals. */
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { readServiceSettings, withEnvFile } from './config/service-settings.js';
import { HastenError } from './domain/errors.js';
import { startService } from './service.js';

/** Probot's set-up page writes the App's credentials into this file. */
function environment(): Readonly<Record<string, string | undefined>> {
  try {
    return withEnvFile(process.env, readFileSync('.env', 'utf8'));
  } catch {
    return process.env;
  }
}

async function main(): Promise<void> {
  const settings = readServiceSettings(environment(), process.cwd());
  const log = pino({ name: 'hasten', level: settings.logLevel });
  const service = await startService(settings, log);
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    log.info(`${signal}: taking no new work, parking what runs.`);
    // The grace period bounds a polite stop; what hangs beyond it is cut off, and the outbox makes it whole again.
    setTimeout(() => process.exit(0), settings.graceMs + 2000).unref();
    service.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ error }, 'Stopping failed.');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
}

main().catch((error: unknown) => {
  console.error(error instanceof HastenError ? `hasten: ${error.message}` : error);
  process.exit(1);
});
