// @ts-check
// Clears away what an engine leaves that was killed: pid files, sockets, containerd, shims and their containers.
import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, processesNamed } from './processes.mjs';

const PID_FILE = '/var/run/docker.pid';
const SOCKET = '/var/run/docker.sock';
const EXEC_ROOT = '/var/run/docker';
const CONTAINERD = `${EXEC_ROOT}/containerd`;
const CONTAINERD_SOCKETS = ['containerd.sock', 'containerd.sock.ttrpc', 'containerd-debug.sock'];
/** All shims carry this name, since the kernel cuts names to 15 characters. */
const SHIM = 'containerd-shim';
const EXIT_LIMIT_MS = 5000;

/**
 * The engine of this machine's default socket, when its process lives.
 * @returns {number | undefined} its process id
 */
export function liveEngine() {
  const pid = pidIn(PID_FILE);
  return pid !== undefined && isAlive(pid, 'dockerd') ? pid : undefined;
}

/**
 * Makes room for a new engine; call only when {@link liveEngine} found none. An engine that comes up among the
 * containers of its predecessor waits for each of them to stop, so they are ended here: sandboxes are disposable
 * and an engine without its daemon has lost their output anyway.
 * @returns {Promise<string[]>} what was cleared, in words
 */
export async function clearLeftovers() {
  const cleared = [];
  if (pidIn(PID_FILE) !== undefined) {
    rmSync(PID_FILE, { force: true });
    cleared.push('a stale pid file');
  }
  rmSync(SOCKET, { force: true });
  // containerd first: it would otherwise take note of every shim that ends and act on it.
  const orphans = processesNamed('containerd').filter(({ args }) =>
    args.some((arg) => arg.startsWith(CONTAINERD)),
  );
  await endProcesses(orphans, 'containerd');
  if (orphans.length > 0) cleared.push('an orphaned containerd');
  const shims = processesNamed(SHIM).filter(isOfEngine);
  await endShims(shims);
  if (shims.length > 0) cleared.push(`${shims.length} orphaned container${shims.length === 1 ? '' : 's'}`);
  rmSync(`${CONTAINERD}/containerd.pid`, { force: true });
  for (const socket of CONTAINERD_SOCKETS) rmSync(`${CONTAINERD}/${socket}`, { force: true });
  return cleared;
}

/**
 * Shims of another containerd (Kubernetes, say) carry another address or namespace.
 * @param {{ args: string[] }} shim
 */
function isOfEngine({ args }) {
  return args.includes('moby') && args.some((arg) => arg.startsWith(CONTAINERD));
}

/**
 * A container's processes are the children of its shim; they would live on without it.
 * @param {{ pid: number }[]} shims
 */
async function endShims(shims) {
  for (const { pid } of shims) {
    for (const child of childrenOf(pid)) kill(child);
    kill(pid);
  }
  await gone(shims, SHIM);
}

/**
 * @param {{ pid: number }[]} processes
 * @param {string} name
 */
async function endProcesses(processes, name) {
  for (const { pid } of processes) kill(pid);
  await gone(processes, name);
}

/**
 * @param {{ pid: number }[]} processes
 * @param {string} name
 */
async function gone(processes, name) {
  const deadline = Date.now() + EXIT_LIMIT_MS;
  while (Date.now() < deadline && processes.some(({ pid }) => isAlive(pid, name))) await sleep(50);
}

/** @param {number} pid */
function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself between the look and the signal.
  }
}

/**
 * @param {number} pid
 * @returns {number[]}
 */
function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/**
 * @param {string} file
 * @returns {number | undefined}
 */
function pidIn(file) {
  try {
    return Number(readFileSync(file, 'utf8').trim()) || undefined;
  } catch {
    return undefined;
  }
}
