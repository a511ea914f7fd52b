/** The CPU profile of a module benchmark on the base: its hottest functions, as evidence for planning and recovering. */
import { z } from 'zod';
import type { HotFunction } from '../domain/plan.js';
import type { CommandResult } from '../domain/sandbox.js';
import { succeeded } from './evidence.js';
import { type BenchmarkLocation, SANDBOX_HARNESS, SANDBOX_WORKSPACE } from './harness-protocol.js';
import { executedPath } from './typescript-module.js';

/** How the recording is started; the request follows on standard input. */
export const PROFILE_ARGV: readonly string[] = ['node', `${SANDBOX_HARNESS}/profile.mjs`];

const WARMUP_CPU_MS = 150;
const RECORD_CPU_MS = 500;
const MAX_FUNCTIONS = 20;
const MAX_NAME_CHARACTERS = 120;
const MAX_FILE_CHARACTERS = 300;

/** JSON for the recording's standard input; all workloads together get half a second of CPU time. */
export function profileRequest({ path, entry }: BenchmarkLocation, nonce: string): string {
  return JSON.stringify({
    nonce,
    workspace: SANDBOX_WORKSPACE,
    benchmark: `${SANDBOX_WORKSPACE}/${executedPath(path)}`,
    entry: `${SANDBOX_WORKSPACE}/${entry}`,
    warmupCpuMs: WARMUP_CPU_MS,
    recordCpuMs: RECORD_CPU_MS,
  });
}

/** Names and paths come out of the repository's code: one line, bounded, nothing that hides or reorders text. */
const plain = (most: number) =>
  z.string().transform((text) => {
    const line = text
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, ' ')
      .replace(/\s+/g, ' ')
      .trim();
    const cut = line.slice(0, most).replace(/[\uD800-\uDBFF]$/, '');
    return cut === '' ? '(no name)' : cut;
  });

const answerSchema = z.object({
  nonce: z.string(),
  ok: z.literal(true),
  functions: z.array(
    z.object({
      name: plain(MAX_NAME_CHARACTERS),
      file: plain(MAX_FILE_CHARACTERS),
      line: z.number().int().min(0).max(10_000_000),
      share: z.number().min(0).max(1),
    }),
  ),
});

/**
 * The hottest functions, most first, at most 20; empty for every answer that is none. A profile helps and decides nothing,
 * so that its failure is no reason to refuse a benchmark.
 */
export function readProfile(result: CommandResult, nonce: string): readonly HotFunction[] {
  if (!succeeded(result)) return [];
  const answers = result.stdout.text.split('\n').flatMap((line) => {
    const answer = answerSchema.safeParse(parsedLine(line));
    return answer.success && answer.data.nonce === nonce ? [answer.data.functions] : [];
  });
  const [functions, ...more] = answers;
  if (functions === undefined || more.length > 0) return [];
  return functions.toSorted((a, b) => b.share - a.share).slice(0, MAX_FUNCTIONS);
}

function parsedLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
