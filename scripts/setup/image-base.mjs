// @ts-check
// Gets the Debian image that the sandbox image starts from: pulled, or made from Debian packages.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { capture, isOnPath, SetUpError, tail } from './command.mjs';
import { installPackages } from './debian.mjs';

/** @typedef {import('./context.mjs').Context} Context */

/** Both ways give the same release; Node comes from the toolchain folder in both. */
export const PULLED_BASE = 'debian:bookworm-slim';
/** The name of the base made here. */
const MADE_BASE = 'hasten-sandbox-base:bookworm';

const PULL_LIMIT_MS = 60_000;
const MAKE_LIMIT_MS = 600_000;

/**
 * @param {Context} context
 * @param {NodeJS.ProcessEnv} env with DOCKER_HOST
 * @returns {Promise<string>} name of a base image that the engine has
 * @throws {SetUpError} when it can neither be pulled nor made
 */
export async function ensureBase(context, env) {
  for (const name of [PULLED_BASE, MADE_BASE]) if (await isThere(name, env)) return name;
  context.log(`image: pulling ${PULLED_BASE}`);
  const pulled = await capture(['docker', 'pull', '--quiet', PULLED_BASE], { env, timeoutMs: PULL_LIMIT_MS });
  if (pulled.code === 0) return PULLED_BASE;
  const reason = pulled.code === 124 ? 'no answer in 60 s' : (pulled.stderr.trim().split('\n').at(-1) ?? '');
  context.log(`image: ${PULLED_BASE} cannot be pulled (${reason}); making the base from Debian packages`);
  await makeBase(context, env);
  return MADE_BASE;
}

/**
 * @param {string} name
 * @param {NodeJS.ProcessEnv} env
 */
async function isThere(name, env) {
  return (await capture(['docker', 'image', 'inspect', '--format', '{{.Id}}', name], { env })).code === 0;
}

/**
 * @param {Context} context
 * @param {NodeJS.ProcessEnv} env
 */
async function makeBase(context, env) {
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
  if (!isOnPath('mmdebstrap') || !existsSync(keyring)) {
    await installPackages(context, {
      packages: ['mmdebstrap', 'debian-archive-keyring'],
      purpose: 'making the base of the sandbox image',
      step: 'image',
      otherwise: `The base image ${PULLED_BASE} cannot be pulled: give the Docker engine access to an image registry, or install mmdebstrap.`,
    });
  }
  const logFile = context.logFile('mmdebstrap');
  await pipe(
    [
      'mmdebstrap',
      '--variant=minbase',
      '--include=ca-certificates',
      `--keyring=${keyring}`,
      'bookworm',
      '-',
      ...mirror(),
    ],
    ['docker', 'import', '-', MADE_BASE],
    { env, logFile },
  );
}

/** A network that mirrors Debian itself names its mirror; without one mmdebstrap knows where Debian is. */
function mirror() {
  const own = process.env.HASTEN_DEBIAN_MIRROR;
  return own === undefined || own === '' ? [] : [own];
}

/**
 * Runs two programs with the output of the first as input of the second.
 * @param {string[]} from
 * @param {string[]} to
 * @param {{ env: NodeJS.ProcessEnv, logFile: string }} options
 * @returns {Promise<void>}
 */
async function pipe([maker = '', ...makerArgs], [taker = '', ...takerArgs], { env, logFile }) {
  mkdirSync(dirname(logFile), { recursive: true });
  const log = openSync(logFile, 'w');
  const first = spawn(maker, makerArgs, { env, stdio: ['ignore', 'pipe', log] });
  const second = spawn(taker, takerArgs, { env, stdio: ['pipe', log, log] });
  const timer = setTimeout(() => first.kill('SIGTERM'), MAKE_LIMIT_MS);
  second.stdin?.on('error', () => first.kill('SIGTERM'));
  if (second.stdin !== null) first.stdout?.pipe(second.stdin);
  const codes = await Promise.all([exitOf(first), exitOf(second)]);
  clearTimeout(timer);
  closeSync(log);
  if (codes.every((code) => code === 0)) return;
  throw new SetUpError(`could not make the base of the sandbox image with mmdebstrap. ${tail(logFile)}`);
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<number>}
 */
function exitOf(child) {
  return new Promise((resolve) => {
    child.on('error', () => resolve(127));
    child.on('close', (code) => resolve(code ?? 137));
  });
}
