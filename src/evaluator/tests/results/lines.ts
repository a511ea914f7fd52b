/** Reads the lines that Hasten's own reporters of node:test and mocha write: [outcome, file, names]. */
import { z } from 'zod';
import { fromRoot, type ListedTest, MOST_TESTS } from './test-result.js';

const Line = z.tuple([z.enum(['passed', 'failed', 'skipped']), z.string(), z.array(z.string())]);

/** Null where a line is no such line or there is none. A node:test file without tests is listed under its own path. */
export function readLines(text: string): readonly ListedTest[] | null {
  const lines = text.split('\n').filter((line) => line !== '');
  if (lines.length === 0 || lines.length > MOST_TESTS) return null;
  const tests: ListedTest[] = [];
  for (const line of lines) {
    const parsed = Line.safeParse(jsonOf(line));
    if (!parsed.success) return null;
    const [outcome, file, names] = parsed.data;
    tests.push({
      file,
      names: names.map((name) => (name === file ? (fromRoot(name) ?? '') : name)),
      outcome,
    });
  }
  return tests;
}

/** The value of a JSON text, undefined for anything else. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
