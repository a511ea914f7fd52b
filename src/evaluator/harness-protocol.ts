/** The border to the harness inside the sandbox (sandbox/harness/observe.mjs): requests and checked answers. */
import { z } from 'zod';
import type { CommandResult } from '../domain/sandbox.js';
import { clipped, outcomeOf, succeeded } from './evidence.js';
import { StepFailed } from './step-failed.js';
import { executedPath } from './typescript-module.js';

/** Where a container of the sandbox has the harness, outside of an arm too. */
export const SANDBOX_HARNESS = '/opt/hasten/harness';
export const SANDBOX_WORKSPACE = '/ws';

/** How the harness is started; the request follows on standard input. */
export function harnessArgv(harness: string = SANDBOX_HARNESS): readonly string[] {
  return ['node', `${harness}/observe.mjs`];
}

/** The same for a container that is no arm. */
export const HARNESS_ARGV = harnessArgv();

/** What of a benchmark the harness needs; paths from the root of the repository. */
export interface BenchmarkLocation {
  readonly path: string;
  readonly entry: string;
}

export interface ObservationProtocol {
  /** CPU milliseconds spent before measuring. */
  readonly warmupCpuMs: number;
  /** CPU milliseconds that one batch should take. */
  readonly batchCpuMs: number;
  readonly batches: number;
}

/** Of handbook constants: 250 ms of CPU time are enough for optimised code, five batches of 7 ms for a steady minimum. */
export const DEFAULT_PROTOCOL: ObservationProtocol = { warmupCpuMs: 250, batchCpuMs: 7, batches: 5 };

/** JSON for the harness's standard input. `workload` is null to ask for the checksum. */
export function harnessRequest(
  benchmark: BenchmarkLocation,
  workload: string | null,
  nonce: string,
  protocol: ObservationProtocol,
  workspace: string = SANDBOX_WORKSPACE,
): string {
  const mode = workload === null ? 'checksum' : 'observe';
  const path = `${workspace}/${executedPath(benchmark.path)}`;
  const entry = `${workspace}/${benchmark.entry}`;
  return JSON.stringify({ mode, benchmark: path, entry, workload, nonce, ...protocol });
}

const positive = z.number().positive().finite();

const checksumSchema = z.object({
  ok: z.literal(true),
  workloads: z.array(z.string().min(1).max(100)).min(1).max(20),
  /** sha256 of the checksum's text. */
  checksum: z.string().regex(/^[0-9a-f]{64}$/),
  length: z.number(),
  preview: z.string(),
  node: z.string(),
});
export type ChecksumAnswer = z.infer<typeof checksumSchema>;

const observationSchema = z.object({
  ok: z.literal(true),
  cpuNsPerOp: positive,
  wallNsPerOp: positive,
  batch: positive,
  firstCallNs: z.number(),
  firstCallCpuUs: z.number(),
  importCpuUs: z.number(),
  importWallNs: z.number(),
  /** Largest resident memory after the first four calls, and at the end. */
  earlyRssKb: positive,
  maxRssKb: positive,
  /** CPU microseconds of the whole process, by its own clock. */
  processCpuUs: positive,
  node: z.string(),
});
export type ObservationAnswer = z.infer<typeof observationSchema>;

const failureSchema = z.object({ ok: z.literal(false), stage: z.string(), message: z.string() });

/** Reads a checksum answer of `arm` (a word for people); throws StepFailed for everything else. */
export function readChecksum(result: CommandResult, nonce: string, arm: string): ChecksumAnswer {
  return readAnswer(checksumSchema, result, nonce, arm);
}

/** Reads an observation of `arm`; throws StepFailed for everything else, figures that are no positive numbers included. */
export function readObservation(result: CommandResult, nonce: string, arm: string): ObservationAnswer {
  return readAnswer(observationSchema, result, nonce, arm);
}

/** The one line of `result` that has the nonce, checked by `schema`; throws StepFailed for everything else. */
export function readAnswer<T>(schema: z.ZodType<T>, result: CommandResult, nonce: string, arm: string): T {
  const answers = result.stdout.text.split('\n').flatMap((line) => {
    const parsed = parsedLine(line);
    return parsed?.nonce === nonce ? [parsed.members] : [];
  });
  if (!succeeded(result) || answers.length !== 1) throw noAnswer(result, arm, answers.length);
  const failure = failureSchema.safeParse(answers[0]);
  if (failure.success) {
    const { stage, message } = failure.data;
    throw new StepFailed({
      code: 'BENCHMARK_FAILED',
      message: `The benchmark fails on the ${arm} (${stage}): ${clipped(firstLine(message), 300)}`,
      evidence: clipped(message),
    });
  }
  const answer = schema.safeParse(answers[0]);
  if (answer.success) return answer.data;
  throw new StepFailed({
    code: 'BENCHMARK_ANSWER_UNREADABLE',
    message: `The benchmark's figures on the ${arm} cannot be used.`,
    evidence: clipped(z.prettifyError(answer.error)),
  });
}

const lineSchema = z.looseObject({ nonce: z.string() });

function parsedLine(line: string): { nonce: string; members: unknown } | null {
  if (!line.startsWith('{"nonce":')) return null;
  try {
    const members: unknown = JSON.parse(line);
    const { nonce } = lineSchema.parse(members);
    return { nonce, members };
  } catch {
    return null;
  }
}

function noAnswer(result: CommandResult, arm: string, answers: number): StepFailed {
  const how = succeeded(result) ? `gave ${answers} answers instead of one` : outcomeOf(result);
  return new StepFailed({
    code: 'BENCHMARK_GAVE_NO_ANSWER',
    message: `The benchmark process on the ${arm} ${how}.`,
    evidence: clipped([result.stderr.text, result.stdout.text].join('\n').trim()),
  });
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
