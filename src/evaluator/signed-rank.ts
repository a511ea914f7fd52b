/** The gate's statistics: exact signed-rank null distribution, Walsh averages, Hodges–Lehmann estimate and interval. */

/**
 * Exact null distribution of the Wilcoxon signed-rank sum W of `n` differences without ties.
 * @returns cumulative probabilities `F[s] = P(W <= s)` for s = 0 … n(n+1)/2.
 * Each rank is in the sum with probability 1/2, so the counts are the coefficients of ∏(1 + x^r), r = 1…n, over 2^n.
 */
export function signedRankDistribution(n: number): readonly number[] {
  const maximum = (n * (n + 1)) / 2;
  const probability = new Array<number>(maximum + 1).fill(0);
  probability[0] = 1;
  for (let rank = 1; rank <= n; rank++) {
    for (let sum = maximum; sum >= 0; sum--) {
      const without = probability[sum] ?? 0;
      const withRank = sum >= rank ? (probability[sum - rank] ?? 0) : 0;
      probability[sum] = (without + withRank) / 2;
    }
  }
  let cumulated = 0;
  return probability.map((p) => {
    cumulated += p;
    return cumulated;
  });
}

/** All averages `(d_i + d_j) / 2` with i <= j, ascending; n(n+1)/2 values. */
export function walshAverages(differences: readonly number[]): readonly number[] {
  const averages: number[] = [];
  differences.forEach((a, i) => {
    for (const b of differences.slice(i)) averages.push((a + b) / 2);
  });
  return averages.sort((a, b) => a - b);
}

/** Hodges–Lehmann estimate: the median of the Walsh averages; NaN for no differences. */
export function hodgesLehmann(differences: readonly number[]): number {
  return medianOfSorted(walshAverages(differences));
}

/** Median of any list; NaN for an empty one. */
export function median(values: readonly number[]): number {
  return medianOfSorted([...values].sort((a, b) => a - b));
}

function medianOfSorted(sorted: readonly number[]): number {
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  if (sorted.length % 2 === 1) return upper;
  return ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

const indices = new Map<string, number | null>();

/** Largest index k with `P(W <= k) <= alpha / 2`, or null when `n` differences are too few for any. */
export function intervalIndex(n: number, alpha: number): number | null {
  const key = `${n} ${alpha}`;
  const known = indices.get(key);
  if (known !== undefined) return known;
  const firstAbove = signedRankDistribution(n).findIndex((p) => p > alpha / 2);
  const index = firstAbove > 0 ? firstAbove - 1 : null;
  indices.set(key, index);
  return index;
}

/** Estimate of the centre of differences, with intervals for it at any level. */
export interface SignedRankSummary {
  /** Hodges–Lehmann estimate; NaN for no differences. */
  readonly estimate: number;
  /**
   * Distribution-free interval for the centre of symmetric differences with coverage of at least 1 - alpha:
   * the Walsh averages number k and M-1-k (Hollander & Wolfe, Nonparametric Statistical Methods, §3.3).
   * Unbounded on both sides when there are too few differences for alpha.
   */
  interval(alpha: number): readonly [number, number];
}

/** Sorts the Walsh averages once for the estimate and all intervals. */
export function summariseSignedRanks(differences: readonly number[]): SignedRankSummary {
  const averages = walshAverages(differences);
  return {
    estimate: medianOfSorted(averages),
    interval: (alpha) => {
      const index = intervalIndex(differences.length, alpha);
      const low = index === null ? undefined : averages[index];
      const high = index === null ? undefined : averages[averages.length - 1 - index];
      return [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY];
    },
  };
}
