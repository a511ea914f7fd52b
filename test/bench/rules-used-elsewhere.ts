/**
 * Rules by which other tools call a change faster or slower, for comparison with the gate only. Each takes its runs in two blocks,
 * first all of the base, then all of the patch, as those tools do, and looks at wall time.
 */
import type { Verdict } from '../../src/domain/evaluation.js';
import { type Recording, runAt } from '../support/recorded-timings.js';

export interface BlockRule {
  readonly name: string;
  /** Runs per side. */
  readonly runs: number;
  /** Wall nanoseconds of both blocks, means of the runs and their smallest batches. */
  decide(base: Block, patch: Block): Verdict;
}

export interface Block {
  readonly means: readonly number[];
  readonly minima: readonly number[];
}

const MINIMUM_EFFECT = 0.05;

export const RULES_USED_ELSEWHERE: readonly BlockRule[] = [
  {
    name: 'mean of five, 5 %',
    runs: 5,
    decide: (base, patch) => byThreshold(mean(base.means), mean(patch.means)),
  },
  {
    name: 'best of ten, 5 %',
    runs: 10,
    decide: (base, patch) => byThreshold(Math.min(...base.minima), Math.min(...patch.minima)),
  },
  {
    name: 'mean ± sd disjoint, ten',
    runs: 10,
    decide(base, patch) {
      const [baseMean, patchMean] = [mean(base.means), mean(patch.means)];
      const spread = deviation(base.means) + deviation(patch.means);
      if (patchMean + spread < baseMean) return 'faster';
      return patchMean - spread > baseMean ? 'slower' : 'no-change';
    },
  },
  {
    name: 'Mann-Whitney in blocks, twenty',
    runs: 20,
    decide(base, patch) {
      if (mannWhitney(base.means, patch.means) >= 0.05) return 'no-change';
      return mean(ranksOf(patch.means, base.means)) < mean(ranksOf(base.means, patch.means))
        ? 'faster'
        : 'slower';
    },
  },
];

/** Both blocks out of a recording: base from `start` on, the patch from where the base ended. */
export function playBlocks(
  recording: Recording,
  start: number,
  arms: { readonly base: number; readonly patch: number },
  rule: BlockRule,
): Verdict {
  const block = (from: number, arm: number): Block => {
    const runs = Array.from({ length: rule.runs }, (_, i) => runAt(recording, from + i, arm));
    return { means: runs.map((run) => run.wallMean), minima: runs.map((run) => run.wallMin) };
  };
  return rule.decide(block(start, arms.base), block(start + rule.runs, arms.patch));
}

function byThreshold(base: number, patch: number): Verdict {
  if (patch <= base * (1 - MINIMUM_EFFECT)) return 'faster';
  return patch >= base * (1 + MINIMUM_EFFECT) ? 'slower' : 'no-change';
}

/**
 * Two-sided p of the Mann–Whitney U test by its normal approximation with continuity correction, as benchstat and SciPy give it for
 * blocks of this size; recorded times have no ties.
 */
export function mannWhitney(a: readonly number[], b: readonly number[]): number {
  const n = a.length;
  const m = b.length;
  const rankSum = ranksOf(a, b).reduce((sum, rank) => sum + rank, 0);
  const u = rankSum - (n * (n + 1)) / 2;
  const sigma = Math.sqrt((n * m * (n + m + 1)) / 12);
  const z = Math.max(0, Math.abs(u - (n * m) / 2) - 0.5) / sigma;
  return 2 * (1 - normalCdf(z));
}

/** Ranks of `a` among both, 1 for the smallest, ties by their mean. */
function ranksOf(a: readonly number[], b: readonly number[]): readonly number[] {
  const all = [...a, ...b];
  return a.map((value) => {
    const below = all.filter((other) => other < value).length;
    const equal = all.filter((other) => other === value).length;
    return below + (equal + 1) / 2;
  });
}

/** Abramowitz & Stegun 26.2.17, good to 7.5e-8. */
function normalCdf(z: number): number {
  const t = 1 / (1 + 0.2316419 * z);
  const tail =
    t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return 1 - (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * tail;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function deviation(values: readonly number[]): number {
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}
