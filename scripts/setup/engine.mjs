// @ts-check
// Finds the Docker engine that answers, or installs and starts one.

import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { capture, isOnPath, runLogged, SetUpError, tail } from './command.mjs';
import { installPackages } from './debian.mjs';
import { dockerHost, engineAddress, engineAnswers, isForbidden } from './engine-address.mjs';
import { mountControlGroups } from './engine-cgroups.mjs';
import { clearLeftovers, liveEngine } from './engine-leftovers.mjs';
import { withLock } from './lock.mjs';
import { processesNamed } from './processes.mjs';

/** @typedef {import('./context.mjs').Context} Context */
/** @typedef {import('./engine-address.mjs').EngineAddress} EngineAddress */

/**
 * @typedef {object} Engine
 * @property {string} dockerHost as DOCKER_HOST wants it
 * @property {'answered' | 'started'} how
 */

const READY_LIMIT_MS = 90_000;
const BY_HAND =
  'Hasten needs a Docker engine and none answers: install Docker (on Debian or Ubuntu: apt-get install docker.io), ' +
  'start it, or set DOCKER_HOST to one that runs.';

/**
 * Without a bridge the sandboxes work all the same, since none of them has a network, and the image is built in the
 * host's network.
 */
const WITHOUT_BRIDGE = ['--iptables=false', '--ip6tables=false', '--bridge=none'];

/**
 * Returns an engine that answers, starting one where that is possible.
 * @param {Context} context
 * @returns {Promise<Engine>}
 * @throws {SetUpError} with one sentence on what to do
 */
export async function ensureEngine(context) {
  const address = engineAddress(process.env);
  if (await engineAnswers(address)) return { dockerHost: dockerHost(address), how: 'answered' };
  refuseWhatCannotBeStarted(address);
  // One lock for the whole machine, since all checkouts share the default socket.
  return withLock(join(tmpdir(), 'hasten-engine.lock'), () => startUnlessAnswering(context, address), {
    onWait: (owner) => context.log(`engine: another set-up (process ${owner?.pid}) is starting it, waiting`),
  });
}

/** @param {EngineAddress} address */
function refuseWhatCannotBeStarted(address) {
  if (isForbidden(address)) {
    const path = address.kind === 'socket' ? address.path : '';
    throw new SetUpError(
      `This user may not use the Docker engine's socket ${path}: join its group (usually docker) or run as root.`,
    );
  }
  if ((process.env.DOCKER_HOST ?? '') !== '') {
    throw new SetUpError(
      `DOCKER_HOST is ${process.env.DOCKER_HOST} and no engine answers there: start it, or unset DOCKER_HOST.`,
    );
  }
  if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new SetUpError(BY_HAND);
}

/**
 * @param {Context} context
 * @param {EngineAddress} address
 * @returns {Promise<Engine>}
 */
async function startUnlessAnswering(context, address) {
  const found = { dockerHost: dockerHost(address), how: /** @type {const} */ ('answered') };
  if (await engineAnswers(address)) return found;
  const running = liveEngine();
  if (running !== undefined) {
    context.log(`engine: dockerd (process ${running}) is up but does not answer yet, waiting`);
    if (await becomesReady(address, () => liveEngine() !== undefined)) return found;
    if (liveEngine() !== undefined) {
      throw new SetUpError(
        `dockerd (process ${running}) runs but has not answered for ${READY_LIMIT_MS / 1000} s: end it and run this again.`,
      );
    }
  }
  if (!isOnPath('dockerd')) await installEngine(context);
  await start(context, address);
  return { ...found, how: 'started' };
}

/** @param {Context} context */
async function installEngine(context) {
  const packages = ['docker.io', 'iptables', 'ca-certificates'];
  await installPackages(context, {
    packages,
    purpose: 'the Docker engine',
    step: 'engine',
    otherwise: BY_HAND,
  });
  if (!isOnPath('dockerd'))
    throw new SetUpError(`docker.io was installed but there is no dockerd on the PATH. ${BY_HAND}`);
}

/**
 * @param {Context} context
 * @param {EngineAddress} address
 */
async function start(context, address) {
  const agreed = await context.confirm('Start the Docker engine (dockerd) in the background?');
  if (!agreed) throw new SetUpError(BY_HAND);
  if (existsSync('/run/systemd/system') && isOnPath('systemctl')) {
    if (await startBySystemd(context, address)) return;
  }
  await mountControlGroups(context.log);
  const logFile = join(context.stateDir, 'dockerd.log');
  /** @type {string[]} */
  let flags = [];
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    const cleared = await clearLeftovers();
    if (cleared.length > 0) context.log(`engine: cleared ${cleared.join(', ')} of an engine that was killed`);
    context.log(`engine: starting dockerd${flags.map((flag) => ` ${flag}`).join('')}`);
    const engine = startDetached(['dockerd', ...flags], logFile);
    if (await becomesReady(address, () => !engine.ended())) return;
    await engine.end();
    flags = nextFlags(tail(logFile, 5));
  }
  throw new SetUpError(`dockerd does not answer. ${tail(logFile)}`);
}

/**
 * What to try after a start that failed: the same again, or without a bridge where the network was the trouble. A
 * daemon without a bridge takes down the bridge of another one on this machine, so never beside a live one.
 * @param {string} lastLines of the daemon's log
 * @returns {string[]}
 */
function nextFlags(lastLines) {
  const isNetwork = /network|iptables|bridge|nftables/i.test(lastLines);
  return isNetwork && processesNamed('dockerd').length === 0 ? WITHOUT_BRIDGE : [];
}

/**
 * A folder alone can be left over from an image that was made on a systemd machine, so its word is not enough.
 * @param {Context} context
 * @param {EngineAddress} address
 */
async function startBySystemd(context, address) {
  const state = await capture(['systemctl', 'is-system-running']);
  if (!/^(running|degraded|starting|initializing)/.test(state.stdout)) return false;
  context.log('engine: starting the service docker');
  await runLogged(['systemctl', 'start', 'docker'], {
    what: 'start the service docker',
    logFile: context.logFile('systemctl'),
    timeoutMs: READY_LIMIT_MS,
  });
  return becomesReady(address, () => true);
}

/**
 * Starts a program that outlives this one, in a session of its own.
 * @param {string[]} argv
 * @param {string} logFile
 * @returns {{ ended: () => boolean, end: () => Promise<void> }}
 */
function startDetached([program = '', ...args], logFile) {
  mkdirSync(dirname(logFile), { recursive: true });
  const log = openSync(logFile, 'w');
  // Its own temporary folder setting or a caller's working directory must not bind it to the checkout.
  const child = spawn(program, args, { cwd: '/', detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  let ended = false;
  const end = new Promise((resolve) => {
    child.on('exit', resolve);
    child.on('error', resolve);
  }).then(() => {
    ended = true;
  });
  child.unref();
  return {
    ended: () => ended,
    end: async () => {
      if (!ended) child.kill('SIGTERM');
      await Promise.race([end, sleep(15_000, undefined, { ref: false })]);
    },
  };
}

/**
 * @param {EngineAddress} address
 * @param {() => boolean} goesOn false when waiting has become pointless
 * @returns {Promise<boolean>}
 */
async function becomesReady(address, goesOn) {
  const deadline = Date.now() + READY_LIMIT_MS;
  while (Date.now() < deadline && goesOn()) {
    if (await engineAnswers(address)) return true;
    await sleep(100);
  }
  return engineAnswers(address);
}
