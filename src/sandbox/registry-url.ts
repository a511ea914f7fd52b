/** Finds the registry that this machine's npm is configured for; the mirror's source. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { UserError } from '../domain/errors.js';

const NPM_TIMEOUT_MS = 20_000;

/** `environment` wins over npm's configuration files, as with npm itself. Throws UserError `REGISTRY_UNKNOWN`. */
export async function readRegistryUrl(environment: NodeJS.ProcessEnv): Promise<string> {
  const named = environment.npm_config_registry;
  const text = named === undefined || named === '' ? await askNpm() : named;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  throw new UserError({
    code: 'REGISTRY_UNKNOWN',
    message: `expected npm's registry to be an http(s) address, got ${JSON.stringify(text)}; set npm_config_registry`,
  });
}

async function askNpm(): Promise<string> {
  try {
    // The directory keeps the .npmrc of whatever project the service was started in out of it.
    const { stdout } = await promisify(execFile)('npm', ['config', 'get', 'registry'], {
      cwd: '/',
      timeout: NPM_TIMEOUT_MS,
    });
    return stdout.trim();
  } catch (cause) {
    throw new UserError({
      code: 'REGISTRY_UNKNOWN',
      message: 'npm did not tell its registry; install npm or set npm_config_registry',
      cause,
    });
  }
}
