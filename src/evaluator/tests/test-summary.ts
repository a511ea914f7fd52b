/** Reads how many tests passed and failed out of the summaries that common runners print. */

export interface TestCounts {
  readonly runner: 'node:test or tap' | 'vitest' | 'jest' | 'mocha' | 'ava' | 'pytest';
  readonly passed: number;
  readonly failed: number;
  /** Skipped, pending, todo or cancelled. */
  readonly skipped: number;
}

type Reader = (output: string) => TestCounts | null;

// Longest escape sequence that runners use for colours, and cursor moves of spinners.
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
const ESCAPES = /\u001b\[[0-9;?]{0,20}[A-Za-z]/g;

/** The last summary in the output, or null where no known runner speaks; several summaries of one runner are added up. */
export function readTestCounts(output: string): TestCounts | null {
  const plain = output.replace(ESCAPES, '').replace(/\r\n?/g, '\n');
  for (const read of READERS) {
    const counts = read(plain);
    if (counts !== null) return counts;
  }
  return null;
}

const READERS: readonly Reader[] = [vitest, jest, nodeTest, mocha, ava, pytest];

function vitest(output: string): TestCounts | null {
  return listed('vitest', output, /^ *Tests {1,10}((?:\d+ [a-z ]+(?: \| )?)+)\(\d+\) *$/gm);
}

function jest(output: string): TestCounts | null {
  return listed('jest', output, /^ *Tests: {1,10}((?:\d+ [a-z]+, )*)\d+ total *$/gm);
}

function pytest(output: string): TestCounts | null {
  return listed('pytest', output, /^=+ ((?:\d+ [a-z]+(?:, )?)+) in [0-9.]+s.*=+ *$/gm);
}

function ava(output: string): TestCounts | null {
  const passed = sum(output, /^ *(\d+) tests? passed *$/gm);
  const failed = sum(output, /^ *(\d+) (?:tests?|hooks?|uncaught exceptions?) failed *$/gm);
  if (passed === null && failed === null) return null;
  const skipped = sum(output, /^ *(\d+) tests? (?:skipped|todo) *$/gm);
  return { runner: 'ava', passed: passed ?? 0, failed: failed ?? 0, skipped: skipped ?? 0 };
}

/** Both reporters of node:test (`# pass 3`, `ℹ pass 3`) and tap's own summary. */
function nodeTest(output: string): TestCounts | null {
  const count = (word: string) => sum(output, new RegExp(`^ {0,4}[#ℹ] ${word} {1,4}(\\d+) *$`, 'gm'));
  const passed = count('pass');
  const total = count('tests');
  if (passed === null || total === null) return null;
  const failed = (count('fail') ?? 0) + (count('cancelled') ?? 0);
  const skipped = (count('skipped') ?? count('skip') ?? 0) + (count('todo') ?? 0);
  return { runner: 'node:test or tap', passed, failed, skipped };
}

function mocha(output: string): TestCounts | null {
  const passed = sum(output, /^ *(\d+) passing(?: \([^)]{1,20}\))? *$/gm);
  if (passed === null) return null;
  const failed = sum(output, /^ *(\d+) failing *$/gm);
  const skipped = sum(output, /^ *(\d+) pending *$/gm);
  return { runner: 'mocha', passed, failed: failed ?? 0, skipped: skipped ?? 0 };
}

/** Summaries of the form `2 failed, 5 passed, 1 skipped`. */
function listed(runner: TestCounts['runner'], output: string, line: RegExp): TestCounts | null {
  const lists = [...output.matchAll(line)].map((match) => match[1] ?? '');
  if (lists.length === 0) return null;
  const all = lists.join(' ');
  const count = (words: string) => sum(all, new RegExp(`(\\d+) (?:${words})\\b`, 'g')) ?? 0;
  return {
    runner,
    passed: count('passed'),
    failed: count('failed|errors?'),
    skipped: count('skipped|todo|pending|xfailed|deselected|expected fail'),
  };
}

function sum(output: string, pattern: RegExp): number | null {
  const found = [...output.matchAll(pattern)].map((match) => Number(match[1]));
  return found.length === 0 ? null : found.reduce((total, count) => total + count, 0);
}
