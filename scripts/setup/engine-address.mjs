// @ts-check
// Where the Docker engine is expected and whether it answers, by the same rule as the service's own client.
import { accessSync, constants, existsSync } from 'node:fs';
import { request } from 'node:http';
import { capture } from './command.mjs';

/** The socket of an engine on this machine. */
const DEFAULT_SOCKET = '/var/run/docker.sock';

/**
 * @typedef {{ kind: 'socket', path: string } | { kind: 'http', host: string, port: number }
 *   | { kind: 'other', url: string }} EngineAddress
 */

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {EngineAddress} `other` for what only the docker command can reach (TLS, ssh, named pipes)
 */
export function engineAddress(env) {
  const url = env.DOCKER_HOST ?? '';
  if (url === '') return { kind: 'socket', path: DEFAULT_SOCKET };
  if (url.startsWith('unix://')) return { kind: 'socket', path: url.slice('unix://'.length) };
  const plain = /^(?:tcp|http):\/\/([^:/]+|\[[^\]]+\])(?::(\d+))?\/?$/.exec(url);
  if (plain === null || (env.DOCKER_TLS_VERIFY ?? '') !== '') return { kind: 'other', url };
  return { kind: 'http', host: (plain[1] ?? '').replace(/^\[|\]$/g, ''), port: Number(plain[2] ?? 2375) };
}

/**
 * The address as DOCKER_HOST wants it, so that every docker command talks to the same engine.
 * @param {EngineAddress} address
 * @returns {string}
 */
export function dockerHost(address) {
  if (address.kind === 'socket') return `unix://${address.path}`;
  if (address.kind === 'http')
    return `tcp://${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
  return address.url;
}

/**
 * Whether an engine answers there within the limit. A socket file alone says nothing: a killed engine leaves one.
 * @param {EngineAddress} address
 * @param {number} [limitMs]
 * @returns {Promise<boolean>}
 */
export async function engineAnswers(address, limitMs = 2000) {
  if (address.kind === 'other') {
    const asked = await capture(['docker', 'version', '--format', '{{.Server.Version}}'], {
      timeoutMs: limitMs * 5,
    });
    return asked.code === 0;
  }
  const where =
    address.kind === 'socket' ? { socketPath: address.path } : { host: address.host, port: address.port };
  return new Promise((resolve) => {
    const ping = request({ ...where, path: '/_ping', timeout: limitMs }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    ping.on('timeout', () => ping.destroy(new Error('no answer')));
    ping.on('error', () => resolve(false));
    ping.end();
  });
}

/**
 * Whether there is a socket that this user may not use: another matter than an engine that is missing.
 * @param {EngineAddress} address
 * @returns {boolean}
 */
export function isForbidden(address) {
  if (address.kind !== 'socket' || !existsSync(address.path)) return false;
  try {
    accessSync(address.path, constants.R_OK | constants.W_OK);
    return false;
  } catch {
    return true;
  }
}
