// @ts-check
// Keeps two set-ups from doing the same thing at once; a lock of a process that is gone is taken over.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SetUpError } from './command.mjs';
import { isSameProcess, startTimeOf } from './processes.mjs';

/**
 * @typedef {object} Owner
 * @property {number} pid
 * @property {string} startedAt start time of that process in the system's own unit; tells apart a reused pid
 */

/**
 * Runs an action while no other process holds the lock.
 * @template T
 * @param {string} file the lock file
 * @param {() => Promise<T>} action
 * @param {{ limitMs?: number, pollMs?: number, onWait?: (owner: Owner | undefined) => void }} [options]
 * @returns {Promise<T>}
 * @throws {SetUpError} when the lock stays taken for the whole time limit (15 minutes unless told)
 */
export async function withLock(file, action, { limitMs = 900_000, pollMs = 200, onWait } = {}) {
  mkdirSync(dirname(file), { recursive: true });
  const deadline = Date.now() + limitMs;
  let told = false;
  while (!tryAcquire(file)) {
    const owner = readOwner(file);
    if (Date.now() > deadline) {
      throw new SetUpError(
        `another set-up (process ${owner?.pid ?? 'unknown'}) holds ${file}; end it or remove the file.`,
      );
    }
    if (!told) onWait?.(owner);
    told = true;
    await sleep(pollMs);
  }
  try {
    return await action();
  } finally {
    rmSync(file, { force: true });
  }
}

/**
 * @param {string} file
 * @returns {boolean}
 */
function tryAcquire(file) {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, startedAt: startTimeOf(process.pid) }));
  try {
    // A link appears whole or not at all, so nobody reads a half-written owner.
    linkSync(mine, file);
    return true;
  } catch {
    removeAbandoned(file);
    return false;
  } finally {
    rmSync(mine, { force: true });
  }
}

/**
 * Two waiters can find the same abandoned lock; the rename lets only one have it, and one that was taken anew
 * in between is put back.
 * @param {string} file
 */
function removeAbandoned(file) {
  if (!isAbandoned(file)) return;
  const aside = `${file}.${process.pid}.abandoned`;
  try {
    renameSync(file, aside);
    if (!isAbandoned(aside)) linkSync(aside, file);
  } catch {
    return;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** @param {string} file */
function isAbandoned(file) {
  const owner = readOwner(file);
  return owner !== undefined && !isSameProcess(owner.pid, owner.startedAt);
}

/**
 * @param {string} file
 * @returns {Owner | undefined}
 */
function readOwner(file) {
  try {
    const { pid, startedAt } = JSON.parse(readFileSync(file, 'utf8'));
    return typeof pid === 'number' && typeof startedAt === 'string' ? { pid, startedAt } : undefined;
  } catch {
    return undefined;
  }
}
