// @ts-check
// Installs the npm packages when the lockfile and node_modules disagree, and makes better-sqlite3 load.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { capture, isOnPath, runLogged, SetUpError } from './command.mjs';
import { installPackages } from './debian.mjs';
import { withLock } from './lock.mjs';

/** @typedef {import('./context.mjs').Context} Context */
/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, devOptional?: boolean, link?: boolean }} Locked
 * @typedef {{ packages?: Record<string, Locked> }} Lockfile
 */

const INSTALL_LIMIT_MS = 600_000;
const COMPILE_LIMIT_MS = 900_000;
const COMPILER_BY_HAND =
  'better-sqlite3 has no ready binary for this Node and must be compiled: install a C++ compiler, make and python3 ' +
  '(on Debian or Ubuntu: apt-get install g++ make python3).';
/** Loading the package alone does not load its binary; opening a database does. */
const OPEN_DATABASE = "new (require('better-sqlite3'))(':memory:').close()";

/**
 * @param {Context} context
 * @returns {Promise<{ installed: boolean, compiled: boolean }>} what had to be done
 * @throws {SetUpError}
 */
export async function ensureDependencies(context) {
  return withLock(join(context.stateDir, 'dependencies.lock'), () => install(context), {
    onWait: (owner) => context.log(`deps: another set-up (process ${owner?.pid}) is installing, waiting`),
  });
}

/** @param {Context} context */
async function install(context) {
  const reason = whyInstall(
    readLockfile(context.root, 'package-lock.json'),
    readLockfile(context.root, 'node_modules/.package-lock.json'),
  );
  if (reason !== undefined) {
    context.log(`deps: installing packages (${reason})`);
    // Install scripts stay off: the one package that needs its script is seen to below.
    await runLogged(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      what: 'install the npm packages',
      logFile: context.logFile('npm-ci'),
      cwd: context.root,
      timeoutMs: INSTALL_LIMIT_MS,
    });
  }
  const compiled = await ensureDatabaseBinary(context);
  return { installed: reason !== undefined, compiled };
}

/**
 * Compares what should be installed with npm's own record of what is.
 * @param {Lockfile | undefined} wanted package-lock.json
 * @param {Lockfile | undefined} installed node_modules/.package-lock.json, written by npm as the last step
 * @returns {string | undefined} why an install is needed, undefined when both agree
 * @throws {SetUpError} when there is no lockfile
 */
export function whyInstall(wanted, installed) {
  if (wanted?.packages === undefined)
    throw new SetUpError('package-lock.json is missing or unreadable: get it back from git.');
  if (installed?.packages === undefined) return 'node_modules is missing or was never finished';
  for (const [path, { version, integrity, optional, devOptional, link }] of Object.entries(wanted.packages)) {
    if (path === '') continue;
    const there = installed.packages[path];
    if (there === undefined && (optional === true || devOptional === true)) continue;
    if (there === undefined) return `${path} is missing`;
    if (link !== true && there.version !== version) return `${path} is ${there.version}, not ${version}`;
    if (integrity !== undefined && there.integrity !== integrity) return `${path} has other contents`;
  }
  const extra = Object.keys(installed.packages).find((path) => wanted.packages?.[path] === undefined);
  return extra === undefined ? undefined : `${extra} is not in the lockfile`;
}

/**
 * @param {string} root
 * @param {string} file
 * @returns {Lockfile | undefined}
 */
function readLockfile(root, file) {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * A binary can be missing (no install script ran) or belong to another Node version.
 * @param {Context} context
 * @returns {Promise<boolean>} whether it was fetched or compiled
 */
async function ensureDatabaseBinary(context) {
  if (!existsSync(join(context.root, 'node_modules', 'better-sqlite3'))) return false;
  if ((await openDatabase(context.root)).code === 0) return false;
  context.log('deps: getting the binary of better-sqlite3 (compiling it takes about two minutes)');
  const step = () => rebuild(context);
  try {
    await step();
  } catch (error) {
    if (hasCompiler()) throw error;
    await installPackages(context, {
      packages: ['g++', 'make', 'python3'],
      purpose: 'compiling better-sqlite3',
      step: 'deps',
      otherwise: COMPILER_BY_HAND,
    });
    await step();
  }
  const opened = await openDatabase(context.root);
  if (opened.code !== 0)
    throw new SetUpError(
      `better-sqlite3 was built but does not load: ${opened.stderr.trim().split('\n').at(-1)}`,
    );
  return true;
}

/** @param {Context} context */
async function rebuild(context) {
  await runLogged(['npm', 'rebuild', 'better-sqlite3'], {
    what: 'get the binary of better-sqlite3',
    logFile: context.logFile('better-sqlite3'),
    cwd: context.root,
    env: withLocalHeaders(process.env),
    timeoutMs: COMPILE_LIMIT_MS,
  });
}

/**
 * Node's own headers, where the installation brought them, save node-gyp a download.
 * @param {NodeJS.ProcessEnv} env
 */
function withLocalHeaders(env) {
  const prefix = dirname(dirname(process.execPath));
  if (env.npm_config_nodedir !== undefined || !existsSync(join(prefix, 'include', 'node', 'node.h')))
    return env;
  return { ...env, npm_config_nodedir: prefix };
}

function hasCompiler() {
  return (
    ['g++', 'make', 'python3'].every((program) => isOnPath(program)) ||
    ['c++', 'make', 'python3'].every((program) => isOnPath(program))
  );
}

/**
 * In a process of its own: a binary of another version can do worse than throw.
 * @param {string} root
 */
function openDatabase(root) {
  return capture([process.execPath, '-e', OPEN_DATABASE], { cwd: root });
}
