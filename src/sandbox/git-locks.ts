/** Lock files that a killed git left in a mirror: nobody else works there, so one that stands still is nobody's. */
import { rm, stat } from 'node:fs/promises';
import { isAbsolute, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GitResult } from './git-process.js';

/** A git that outlives its killed service may still hold its lock; it is given this long without a change of the file. */
const STALE_MS = 5000;
const POLL_MS = 250;
/** A fetch takes several locks, one after another. */
const MOST_LOCKS = 5;

const LOCK_HELD = /Unable to create '([^'\n]+\.lock)': File exists/;

/** Calls git again after a stale lock in `gitDir` that stood in its way was removed. Rejects with the signal's reason while waiting. */
export async function withoutStaleLocks(
  gitDir: string,
  call: () => Promise<GitResult>,
  signal?: AbortSignal,
): Promise<GitResult> {
  for (let removed = 0; ; removed += 1) {
    const result = await call();
    const lock = result.code === 0 ? undefined : LOCK_HELD.exec(result.stderr)?.[1];
    if (lock === undefined || removed >= MOST_LOCKS || !isInside(gitDir, lock)) return result;
    await removeWhenStale(lock, signal);
  }
}

function isInside(directory: string, path: string): boolean {
  const inner = relative(directory, path);
  return inner !== '' && !inner.startsWith('..') && !isAbsolute(inner);
}

async function removeWhenStale(lock: string, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const found = await stat(lock).catch(() => null);
    if (found === null) return;
    if (Date.now() - found.mtimeMs > STALE_MS) {
      await rm(lock, { force: true });
      return;
    }
    await sleep(POLL_MS, undefined, signal === undefined ? {} : { signal });
  }
}
