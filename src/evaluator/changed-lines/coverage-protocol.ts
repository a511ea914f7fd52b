/** The border to the coverage harness inside the sandbox (sandbox/harness/coverage.mjs): requests and checked answers. */
import { z } from 'zod';
import type { CommandResult } from '../../domain/sandbox.js';
import { succeeded } from '../evidence.js';

export const COVERAGE_ARGV = ['node', '/opt/hasten/harness/coverage.mjs'] as const;
export const WORKLOADS_ARGV = ['node', '/opt/hasten/harness/coverage-workloads.mjs'] as const;
export const WORKSPACE_ROOT = '/ws';
/** Bytes of an answer that are taken. */
export const ANSWER_BYTES = 16 * 2 ** 20;

export interface CoverageRequest {
  readonly nonce: string;
  /** Paths from the root whose execution is asked for. */
  readonly files: readonly string[];
  readonly argv: readonly string[];
  readonly stdin: string;
  readonly timeoutMs: number;
}

/** JSON for the harness's standard input. */
export function coverageRequest(request: CoverageRequest): string {
  return JSON.stringify({ ...request, root: WORKSPACE_ROOT });
}

const offsets = z.array(z.number().int().nonnegative());

const coveredScriptSchema = z.object({
  /** Path from the root of what was executed; a build product where there is a map. */
  file: z.string(),
  /** Executed parts: start, end, start, end … offsets in order. */
  parts: offsets,
  /** Of the executed text, without line ends. */
  lineLengths: offsets,
  /** Sources as paths from the root, empty for what lies elsewhere. */
  map: z
    .object({
      version: z.literal(3),
      names: z.array(z.string()),
      sources: z.array(z.string()),
      mappings: z.string(),
    })
    .nullable(),
});
export type CoveredScript = z.infer<typeof coveredScriptSchema>;

/** Members of every answer that tells coverage. */
export const coverageMembers = {
  /** Node processes and threads that wrote coverage. */
  processes: z.number(),
  /** Coverage files that could not be read. */
  unread: z.number(),
  scripts: z.array(coveredScriptSchema),
  /** Files that were executed in a form that cannot be followed to their text. */
  untraced: z.array(z.string()),
};

const coverageSchema = z.object({
  nonce: z.string(),
  /** Of the command; null when it was stopped. */
  exitCode: z.number().nullable(),
  stderr: z.string(),
  ...coverageMembers,
});
export type Coverage = z.infer<typeof coverageSchema>;

/** The one answer with the nonce; null for everything else. */
export function readCoverage(result: CommandResult, nonce: string): Coverage | null {
  return readAnswer(coverageSchema, result, nonce);
}

/** The one line of JSON with the nonce that the schema takes; null for everything else. */
export function readAnswer<T extends { readonly nonce: string }>(
  schema: z.ZodType<T>,
  result: CommandResult,
  nonce: string,
): T | null {
  if (!succeeded(result)) return null;
  const answers = result.stdout.text.split('\n').filter((line) => line.startsWith('{"nonce":'));
  const [line, ...more] = answers;
  if (line === undefined || more.length > 0) return null;
  try {
    const answer = schema.parse(JSON.parse(line));
    return answer.nonce === nonce ? answer : null;
  } catch {
    return null;
  }
}
