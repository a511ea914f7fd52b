/** Runs the checks away from the service's own thread, with an end in time and memory: the sources are a model's. */
import { Worker } from 'node:worker_threads';
import type { CheatContext, CheatFinding, SourceChange } from './cheat-finding.js';
import { isCheckable } from './source-tree.js';

export interface CheatCheckLimits {
  /** Milliseconds of wall time for the whole patch. */
  readonly timeoutMs: number;
  /** Heap of the thread in MiB. */
  readonly heapMb: number;
}

export const DEFAULT_CHEAT_CHECK_LIMITS: CheatCheckLimits = { timeoutMs: 60_000, heapMb: 1024 };

export type CheatCheckResult =
  | { readonly kind: 'checked'; readonly findings: readonly CheatFinding[] }
  | { readonly kind: 'gave-up'; readonly reason: string };

const FROM_SOURCE = import.meta.url.endsWith('.ts');
const THREAD = new URL(`./cheat-check-worker.${FROM_SOURCE ? 'ts' : 'js'}`, import.meta.url);

/**
 * Findings of `findCheats`, or why there are none: parsers take exponential time for some texts, so a patch can keep
 * them busy for ever. Rejects with the reason of `signal`, and with the thread's error where it is not about memory.
 */
export function runCheatChecks(
  changes: readonly SourceChange[],
  context: CheatContext,
  limits: CheatCheckLimits,
  signal: AbortSignal,
): Promise<CheatCheckResult> {
  signal.throwIfAborted();
  if (!changes.some(({ path }) => isCheckable(path)))
    return Promise.resolve({ kind: 'checked', findings: [] });
  const thread = new Worker(THREAD, {
    workerData: { changes, context },
    env: {},
    execArgv: FROM_SOURCE ? ['--import', 'tsx'] : [],
    resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
  });
  return settled(thread, limits, signal).finally(() => thread.terminate());
}

function settled(thread: Worker, limits: CheatCheckLimits, signal: AbortSignal): Promise<CheatCheckResult> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    const giveUp = (reason: string): void => resolve({ kind: 'gave-up', reason });
    const timer = setTimeout(() => giveUp(`no answer in ${limits.timeoutMs / 1000} s`), limits.timeoutMs);
    thread.once('message', (findings: readonly CheatFinding[]) => resolve({ kind: 'checked', findings }));
    thread.once('error', (error: Error & { code?: string }) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY')
        giveUp(`more than ${limits.heapMb} MiB of memory needed`);
      else reject(error);
    });
    thread.once('exit', (code) => reject(new Error(`the thread of the checks ended with exit code ${code}`)));
    signal.addEventListener('abort', abort, { once: true });
    thread.once('exit', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    });
  });
}
