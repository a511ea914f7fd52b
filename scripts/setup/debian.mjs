// @ts-check
// Installs Debian or Ubuntu packages as root, without starting the services that they bring.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { capture, isOnPath, runLogged, SetUpError } from './command.mjs';

/** @typedef {import('./context.mjs').Context} Context */

const POLICY = '/usr/sbin/policy-rc.d';
const APT_LIMIT_MS = 600_000;
const UNATTENDED = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_MODE: 'l' };

/** apt-get takes one caller at a time; the steps of one set-up wait here, other processes wait for dpkg's lock. */
let queue = Promise.resolve();

/**
 * Why packages cannot be installed here, or undefined when they can.
 * @returns {string | undefined}
 */
function whyNotInstallable() {
  if (process.platform !== 'linux' || !isOnPath('apt-get')) return 'this is not Debian or Ubuntu';
  if (process.getuid?.() !== 0) return 'this user is not root';
  return undefined;
}

/**
 * Installs packages, after asking on a terminal.
 * @param {Context} context
 * @param {{ packages: string[], purpose: string, step: string, otherwise: string }} request
 *   `purpose` completes "for …"; `otherwise` is the sentence that says what to install by hand
 * @returns {Promise<void>}
 * @throws {SetUpError} where packages cannot be installed, the person said no, or apt-get failed
 */
export async function installPackages(context, { packages, purpose, step, otherwise }) {
  const reason = whyNotInstallable();
  if (reason !== undefined)
    throw new SetUpError(`${otherwise} (It is not installed for you since ${reason}.)`);
  const agreed = await context.confirm(`Install ${packages.join(', ')} with apt-get for ${purpose}?`);
  if (!agreed) throw new SetUpError(otherwise);
  context.log(`${step}: installing ${packages.join(', ')} for ${purpose}`);
  const turn = queue.then(() => aptInstall(packages, context.logFile(`apt-${step}`)));
  queue = turn.catch(() => undefined);
  await turn;
}

/**
 * @param {string[]} packages
 * @param {string} logFile
 */
async function aptInstall(packages, logFile) {
  const install = () => apt(['install', '--yes', '--no-install-recommends', ...packages], logFile);
  await withoutServiceStart(async () => {
    if (!hasPackageLists()) await refreshLists(logFile);
    try {
      await install();
    } catch {
      // Lists older than the mirror name files that are gone, and an installation that was killed blocks the next.
      await capture(['dpkg', '--configure', '-a'], { timeoutMs: APT_LIMIT_MS, env: UNATTENDED });
      await refreshLists(logFile);
      await install();
    }
  });
}

/**
 * One source that does not answer must not stop packages that come from another; the installation decides.
 * @param {string} logFile
 */
async function refreshLists(logFile) {
  await apt(['update'], `${logFile}.update`).catch(() => undefined);
}

/**
 * @param {string[]} args
 * @param {string} logFile
 */
async function apt(args, logFile) {
  const options = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3'];
  await runLogged(['apt-get', ...args, ...options], {
    what: `run apt-get ${args.filter((arg) => !arg.startsWith('-')).join(' ')}`,
    logFile,
    timeoutMs: APT_LIMIT_MS,
    env: UNATTENDED,
  });
}

/** A fresh image has an empty lists folder, and then every install fails with "unable to locate package". */
function hasPackageLists() {
  try {
    return readdirSync('/var/lib/apt/lists').some((name) => name.includes('_Packages'));
  } catch {
    return false;
  }
}

/**
 * Debian starts a package's service on installation unless a policy says no; a policy that is there stays.
 * @param {() => Promise<void>} install
 */
async function withoutServiceStart(install) {
  if (existsSync(POLICY)) return install();
  const ours = '#!/bin/sh\n# Hasten set-up installs packages without starting services.\nexit 101\n';
  writeFileSync(POLICY, ours, { mode: 0o755 });
  try {
    await install();
  } finally {
    if (readFileSync(POLICY, 'utf8') === ours) rmSync(POLICY, { force: true });
  }
}
