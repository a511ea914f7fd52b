/** The border to the command runner inside the sandbox (sandbox/harness/command.py): requests and checked answers. */
import { z } from 'zod';
import type { CommandResult } from '../../domain/sandbox.js';
import { clipped } from '../evidence.js';
import { readAnswer } from '../harness-protocol.js';
import { StepFailed } from '../step-failed.js';

/** How the runner is started; the request follows on standard input. */
export function commandArgv(harness: string): readonly string[] {
  return ['python3', `${harness}/command.py`];
}

/** Most runs of a command in one process of the runner. */
export const MOST_RUNS = 50;

export interface CommandRequest {
  readonly nonce: string;
  /** Run by `sh -c` in the workspace. */
  readonly command: string;
  readonly workspace: string;
  /** Directories to empty before each run. */
  readonly scratch: readonly string[];
  /** Times to run it, 1 to 50. */
  readonly runs: number;
  /** File to read after each run, absolute or from the workspace; null for none. */
  readonly file: string | null;
  /** Bytes kept of standard output, and the most that the file may have. */
  readonly keptBytes: number;
}

const runSchema = z.object({
  exitCode: z.int(),
  /** CPU microseconds, user and system, of the command's whole process tree. */
  cpuUs: z.number().nonnegative(),
  wallNs: z.number().positive(),
  maxRssKb: z.number().nonnegative(),
});
export type CommandRun = z.infer<typeof runSchema>;

const answerSchema = z.object({
  ok: z.literal(true),
  runs: z.array(runSchema).min(1).max(MOST_RUNS),
  /** Of the last run. */
  stdoutSha256: z.string().regex(/^[0-9a-f]{64}$/),
  stdoutBytes: z.number(),
  /** Start of standard output. */
  stdout: z.string(),
  /** End of standard error. */
  stderr: z.string(),
  file: z.string().nullable(),
  ownCpuUs: z.number().nonnegative(),
});
export type CommandAnswer = z.infer<typeof answerSchema>;

/** Reads the runner's answer; throws StepFailed for everything else, a command that did not succeed included. */
export function readCommandAnswer(result: CommandResult, nonce: string, arm: string): CommandAnswer {
  const answer = readAnswer(answerSchema, result, nonce, arm);
  const failed = answer.runs.find(({ exitCode }) => exitCode !== 0);
  if (failed === undefined) return answer;
  const how = failed.exitCode < 0 ? `was killed by signal ${-failed.exitCode}` : `gave ${failed.exitCode}`;
  throw new StepFailed({
    code: 'BENCHMARK_FAILED',
    message: `The benchmark command ${how} on the ${arm}; it must end with exit code 0.`,
    evidence: clipped([answer.stderr, answer.stdout].join('\n').trim()),
  });
}
