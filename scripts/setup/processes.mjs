// @ts-check
// What set-up asks about other processes, from /proc; elsewhere only whether a process exists.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/**
 * @param {number} pid
 * @returns {{ name: string, state: string, startedAt: string } | undefined} undefined when there is none
 */
function processStatus(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name stands in parentheses and may hold spaces and parentheses itself.
    const end = text.lastIndexOf(')');
    const fields = text.slice(end + 2).split(' ');
    return {
      name: text.slice(text.indexOf('(') + 1, end),
      state: fields[0] ?? '',
      startedAt: fields[19] ?? '',
    };
  } catch {
    return undefined;
  }
}

/**
 * Whether a process by that name runs; one that was killed and waits for its parent does not.
 * @param {number} pid
 * @param {string} name as the kernel shows it, cut to 15 characters
 * @returns {boolean}
 */
export function isAlive(pid, name) {
  const status = processStatus(pid);
  return status !== undefined && status.name === name.slice(0, 15) && !'ZX'.includes(status.state);
}

/**
 * @param {number} pid
 * @returns {string} start time in the system's own unit, empty where there is no /proc
 */
export function startTimeOf(pid) {
  return processStatus(pid)?.startedAt ?? '';
}

/**
 * Whether the process with that start time still runs.
 * @param {number} pid
 * @param {string} startedAt
 * @returns {boolean}
 */
export function isSameProcess(pid, startedAt) {
  if (existsSync('/proc/self/stat')) {
    const status = processStatus(pid);
    return status !== undefined && status.startedAt === startedAt && !'ZX'.includes(status.state);
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * The processes with that name and their arguments.
 * @param {string} name
 * @returns {{ pid: number, args: string[] }[]}
 */
export function processesNamed(name) {
  if (!existsSync('/proc')) return [];
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && isAlive(Number(entry), name))
    .map((entry) => ({ pid: Number(entry), args: argumentsOf(Number(entry)) }));
}

/** @param {number} pid */
function argumentsOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
  } catch {
    return [];
  }
}
