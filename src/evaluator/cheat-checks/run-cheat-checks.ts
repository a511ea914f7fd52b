/** Runs the checks away from the service, with an end in time and memory: the sources are a model's. */
import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { BugError } from '../../domain/errors.js';
import { CHEAT_RULES, type CheatContext, type CheatFinding, type SourceChange } from './cheat-finding.js';
import { isCheckable } from './source-tree.js';

export interface CheatCheckLimits {
  /** Milliseconds of wall time for the whole patch. */
  readonly timeoutMs: number;
  /** Heap in MiB. */
  readonly heapMb: number;
}

export const DEFAULT_CHEAT_CHECK_LIMITS: CheatCheckLimits = { timeoutMs: 60_000, heapMb: 1024 };

export type CheatCheckResult =
  | { readonly kind: 'checked'; readonly findings: readonly CheatFinding[] }
  | { readonly kind: 'gave-up'; readonly reason: string };

const FROM_SOURCE = import.meta.url.endsWith('.ts');
const PROGRAM = fileURLToPath(new URL(`./cheat-check-process.${FROM_SOURCE ? 'ts' : 'js'}`, import.meta.url));

const findingsSchema = z.array(
  z.object({ path: z.string(), line: z.number(), rule: z.enum(CHEAT_RULES), reason: z.string() }),
);

/**
 * Findings of `findCheats`, or why there are none: a parser takes exponential time for some texts and deep nesting eats
 * its stack, so that a patch could keep the service busy for ever. Rejects with the reason of `signal`, and with a
 * BugError where the checks themselves broke.
 */
export async function runCheatChecks(
  changes: readonly SourceChange[],
  context: CheatContext,
  limits: CheatCheckLimits,
  signal: AbortSignal,
): Promise<CheatCheckResult> {
  signal.throwIfAborted();
  if (!changes.some(({ path }) => isCheckable(path))) return { kind: 'checked', findings: [] };
  const answer = await ask(JSON.stringify({ changes, context }), limits, signal);
  signal.throwIfAborted();
  if (answer.signal === 'SIGKILL')
    return { kind: 'gave-up', reason: `no answer in ${limits.timeoutMs / 1000} s` };
  if (answer.code === 0)
    return { kind: 'checked', findings: findingsSchema.parse(JSON.parse(answer.stdout)) };
  if (/heap out of memory/.test(answer.stderr)) {
    return { kind: 'gave-up', reason: `it needs more than ${limits.heapMb} MiB of memory` };
  }
  const message = `the checks of a patch ended with ${answer.code ?? answer.signal}: ${answer.stderr.slice(-500)}`;
  throw new BugError({ code: 'CHEAT_CHECKS_BROKE', message });
}

interface Answer {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function ask(question: string, limits: CheatCheckLimits, signal: AbortSignal): Promise<Answer> {
  const loader = FROM_SOURCE ? ['--import', 'tsx'] : [];
  const child = spawn(process.execPath, [`--max-old-space-size=${limits.heapMb}`, ...loader, PROGRAM], {
    cwd: dirname(PROGRAM),
    env: {},
    stdio: 'pipe',
  });
  const kill = (): void => void child.kill('SIGKILL');
  const timer = setTimeout(kill, limits.timeoutMs);
  signal.addEventListener('abort', kill, { once: true });
  const ended = new Promise<Pick<Answer, 'code' | 'signal'>>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, by) => resolve({ code, signal: by }));
  });
  // Its pipe breaks where it dies before it has read everything; how it ended tells more.
  child.stdin.on('error', () => {});
  child.stdin.end(question);
  try {
    const [stdout, stderr, end] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    return { ...end, stdout, stderr };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  }
}
