/** What every reader of a runner's report gives: one outcome per test, under a name that stays the same from run to run. */

export type TestOutcome = 'passed' | 'failed' | 'skipped';

/** Whose report it was. */
export type TestRunner =
  | 'node:test'
  | 'mocha'
  | 'vitest'
  | 'jest'
  | 'tap'
  | 'go'
  | 'pytest'
  | 'cargo'
  | 'junit';

export interface TestResult {
  /** File and full name; a repeated one is numbered, so that it is unique within a run. */
  readonly id: string;
  /** Path from the root of the workspace, where the report tells. */
  readonly file: string | null;
  readonly outcome: TestOutcome;
  readonly runner: TestRunner;
}

/** A test as a report lists it. */
export interface ListedTest {
  /** As the report spells it: absolute, an address, or relative; null or empty where it names none. */
  readonly file: string | null;
  /** From the outermost group to the test. */
  readonly names: readonly string[];
  readonly outcome: TestOutcome;
}

/** More tests than any report is read for. */
export const MOST_TESTS = 200_000;

const WORST_FIRST: readonly TestOutcome[] = ['failed', 'skipped', 'passed'];

/**
 * Gives each test its id. Tests of equal name are numbered with the worst first, because runners that work side by side
 * list them in any order.
 */
export function identified(listed: readonly ListedTest[], runner: TestRunner): readonly TestResult[] {
  const outcomes = new Map<string, { readonly file: string | null; readonly all: TestOutcome[] }>();
  for (const { file: spelt, names, outcome } of listed) {
    const file = fromRoot(spelt);
    const shown = file === null || names[0] === file ? names : [file, ...names];
    const id = shown.map((name) => name.trim()).join(' › ');
    const known = outcomes.get(id);
    if (known === undefined) outcomes.set(id, { file, all: [outcome] });
    else known.all.push(outcome);
  }
  const taken = new Set(outcomes.keys());
  return [...outcomes].flatMap(([id, { file, all }]) =>
    all
      .sort((one, other) => WORST_FIRST.indexOf(one) - WORST_FIRST.indexOf(other))
      .map((outcome, at) => ({ id: at === 0 ? id : numbered(id, at + 1, taken), file, outcome, runner })),
  );
}

function numbered(id: string, least: number, taken: Set<string>): string {
  let number = least;
  while (taken.has(`${id} (${number})`)) number += 1;
  taken.add(`${id} (${number})`);
  return `${id} (${number})`;
}

/** Path from the root of the workspace. */
export function fromRoot(file: string | null): string | null {
  const path = (file ?? '').replace(/^file:\/\//, '').replace(/^\/ws\//, '');
  return path.replace(/^\.\//, '') || null;
}
