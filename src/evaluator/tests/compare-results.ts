/** Which tests count on the base, and which of them are lost on the patch: pure. */
import type { TestResult } from './results/test-result.js';

/** What two runs of the base's tests agree on. */
export interface BaseResults {
  /** Ids of the tests that passed both times; they must pass on the patch. */
  readonly passing: readonly string[];
  /** Tests whose outcome differs between the two runs, sorted. */
  readonly flaky: readonly string[];
  /** Tests that fail both times, sorted. */
  readonly failing: readonly string[];
}

export interface LostTest {
  readonly id: string;
  readonly how: 'fails' | 'is skipped' | 'is missing';
}

export function compareBaseRuns(first: readonly TestResult[], second: readonly TestResult[]): BaseResults {
  const [one, other] = [outcomes(first), outcomes(second)];
  const passing: string[] = [];
  const flaky: string[] = [];
  const failing: string[] = [];
  for (const id of new Set([...one.keys(), ...other.keys()])) {
    const [before, after] = [one.get(id), other.get(id)];
    if (before !== after) flaky.push(id);
    else if (before === 'passed') passing.push(id);
    else if (before === 'failed') failing.push(id);
  }
  return { passing, flaky: flaky.sort(), failing: failing.sort() };
}

/** Tests that passed on the base and do not on the patch. */
export function lostTests(base: BaseResults, patch: readonly TestResult[]): readonly LostTest[] {
  const now = outcomes(patch);
  return base.passing.flatMap((id): LostTest[] => {
    const outcome = now.get(id);
    if (outcome === 'passed') return [];
    return [
      { id, how: outcome === undefined ? 'is missing' : outcome === 'failed' ? 'fails' : 'is skipped' },
    ];
  });
}

/** Tests that fail although nothing on the base explains it: neither flaky nor failing there. */
export function unexplainedFailures(base: BaseResults, patch: readonly TestResult[]): readonly string[] {
  const explained = new Set([...base.flaky, ...base.failing]);
  return patch.filter(({ id, outcome }) => outcome === 'failed' && !explained.has(id)).map(({ id }) => id);
}

function outcomes(results: readonly TestResult[]): ReadonlyMap<string, TestResult['outcome']> {
  return new Map(results.map(({ id, outcome }) => [id, outcome]));
}
