/**
 * Benchmarks written in TypeScript: the Node of the sandbox loads JavaScript, so the types are stripped on the host, as text,
 * and the result stands beside the source. What is frozen and hashed stays the source as written.
 */
import { z } from 'zod';
import { clipped } from './evidence.js';
import { StepFailed } from './step-failed.js';

/** Longest source, in UTF-16 units. */
const MAX_SOURCE_CHARS = 1_000_000;
const TYPESCRIPT = /(?<!\.d)\.m?ts$/;

/** The path that the harness loads for a module's path: its own, or `a.hasten.mjs` for `a.ts` and `a.mts`. */
export function executedPath(path: string): string {
  return path.replace(TYPESCRIPT, '.hasten.mjs');
}

/**
 * What stands at `executedPath`, types replaced by blanks so that lines and columns stay. Throws StepFailed
 * `BENCHMARK_NOT_STRIPPED` with the place for syntax that more than stripping needs (enums, namespaces, decorators …).
 */
export async function executedSource(path: string, source: string): Promise<string> {
  if (!TYPESCRIPT.test(path)) return source;
  if (source.length > MAX_SOURCE_CHARS) throw notStripped(path, 'It is too long.', '');
  // Loaded when it is needed: a few megabytes that most runs can do without.
  const { default: stripper } = await import('@swc/wasm-typescript');
  try {
    return stripper.transformSync(source, { mode: 'strip-only', module: true, filename: path }).code;
  } catch (error) {
    const found = errorSchema.safeParse(error);
    if (!found.success) throw error;
    const { message, startLine, snippet } = found.data;
    throw notStripped(path, `line ${startLine ?? 1}: ${message}`, snippet ?? '');
  }
}

const errorSchema = z.object({
  message: z.string(),
  startLine: z.number().optional(),
  snippet: z.string().optional(),
});

function notStripped(path: string, why: string, snippet: string): StepFailed {
  return new StepFailed({
    code: 'BENCHMARK_NOT_STRIPPED',
    message: `The types of the benchmark ${path} cannot be stripped: ${clipped(why, 300)}`,
    evidence: clipped(snippet),
  });
}
