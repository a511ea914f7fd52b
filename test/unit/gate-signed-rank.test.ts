import signrankCdf from '@stdlib/stats-base-dists-signrank-cdf';
import wilcoxon from '@stdlib/stats-wilcoxon';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  hodgesLehmann,
  intervalIndex,
  median,
  signedRankDistribution,
  summariseSignedRanks,
  walshAverages,
} from '../../src/evaluator/signed-rank.js';

/** Every subset of the ranks 1…n is equally likely: counted one by one. */
function enumerated(n: number): number[] {
  const counts = new Array<number>((n * (n + 1)) / 2 + 1).fill(0);
  for (let signs = 0; signs < 2 ** n; signs++) {
    let sum = 0;
    for (let rank = 1; rank <= n; rank++) if (signs & (1 << (rank - 1))) sum += rank;
    counts[sum] = (counts[sum] ?? 0) + 1;
  }
  let seen = 0;
  return counts.map((count) => {
    seen += count;
    return seen / 2 ** n;
  });
}

/** Distinct magnitudes, so that no two differences share a rank. */
const differences = (least: number, most: number) =>
  fc
    .uniqueArray(fc.integer({ min: 1, max: 100_000 }), { minLength: least, maxLength: most })
    .chain((sizes) =>
      fc
        .array(fc.boolean(), { minLength: sizes.length, maxLength: sizes.length })
        .map((signs) => sizes.map((size, i) => ((signs[i] ? -1 : 1) * size) / 1000)),
    );

const signedRankInterval = (d: readonly number[], alpha: number) => summariseSignedRanks(d).interval(alpha);

describe('the signed-rank distribution', () => {
  it('equals the enumeration of all signs for up to 14 differences', () => {
    for (let n = 1; n <= 14; n++) {
      const expected = enumerated(n);
      const actual = signedRankDistribution(n);
      expect(actual).toHaveLength(expected.length);
      expected.forEach((p, s) => {
        expect(actual[s]).toBeCloseTo(p, 12);
      });
    }
  });

  it('equals the distribution of an independent implementation at every look', () => {
    for (const n of [6, 10, 14, 20, 28, 40]) {
      signedRankDistribution(n).forEach((p, s) => {
        expect(p).toBeCloseTo(signrankCdf(s, n), 10);
      });
    }
  });

  it.each([
    [6, 21, null, null, 0, 0.03125],
    [10, 55, 1, 5, 8, 0.0488],
    [14, 105, 9, 15, 21, 0.0494],
    [20, 210, 32, 43, 52, 0.0484],
    [28, 406, 82, 101, 116, 0.0477],
    [40, 820, 204, 238, 264, 0.0498],
  ])('gives the known interval indices for %i differences', (n, averages, strict, equal, usual, level) => {
    expect(walshAverages(Array.from({ length: n }, (_, i) => i))).toHaveLength(averages);
    expect(intervalIndex(n, 0.005)).toBe(strict);
    expect(intervalIndex(n, 0.02)).toBe(equal);
    expect(intervalIndex(n, 0.05)).toBe(usual);
    expect(2 * (signedRankDistribution(n)[usual] ?? 0)).toBeCloseTo(level, 4);
  });

  it.each([
    [10, 0.0039, 0.0195],
    [14, 0.004, 0.0166],
    [20, 0.0049, 0.0192],
    [28, 0.0048, 0.0191],
    [40, 0.0049, 0.02],
  ])('spends at most the level it was given at %i differences', (n, strict, equal) => {
    const level = (alpha: number) => 2 * (signedRankDistribution(n)[intervalIndex(n, alpha) ?? -1] ?? 0);
    expect(level(0.005)).toBeCloseTo(strict, 4);
    expect(level(0.02)).toBeCloseTo(equal, 4);
  });
});

describe('the estimate and its interval', () => {
  it('takes the median of the Walsh averages', () => {
    expect(walshAverages([3, 1, 2])).toEqual([1, 1.5, 2, 2, 2.5, 3]);
    expect(hodgesLehmann([3, 1, 2])).toBe(2);
    expect(hodgesLehmann([1, 2])).toBe(1.5);
    expect(hodgesLehmann([1, 2, 3, 1000])).toBe(2.75);
    expect(hodgesLehmann([])).toBeNaN();
    expect(median([5, 1, 9, 3])).toBe(4);
  });

  it('excludes a location exactly when the exact signed-rank test rejects it', () => {
    fc.assert(
      fc.property(differences(8, 24), fc.constantFrom(0.005, 0.02, 0.05), (d, alpha) => {
        const [low, high] = signedRankInterval(d, alpha);
        const { pValue } = wilcoxon(d, { exact: true });
        if (Math.abs(pValue - alpha) < 1e-9) return;
        expect(low > 0 || high < 0).toBe(pValue < alpha);
      }),
      { numRuns: 200 },
    );
  });

  it('moves with a shift and turns round with the sign', () => {
    fc.assert(
      fc.property(differences(6, 20), fc.integer({ min: -50, max: 50 }), (d, shift) => {
        const [low, high] = signedRankInterval(d, 0.05);
        const moved = signedRankInterval(
          d.map((x) => x + shift),
          0.05,
        );
        expect(moved[0]).toBeCloseTo(low + shift, 8);
        expect(moved[1]).toBeCloseTo(high + shift, 8);
        const [turnedLow, turnedHigh] = signedRankInterval(
          d.map((x) => -x),
          0.05,
        );
        expect([-turnedHigh, -turnedLow]).toEqual([low, high]);
        expect(hodgesLehmann(d)).toBeGreaterThanOrEqual(low);
        expect(hodgesLehmann(d)).toBeLessThanOrEqual(high);
      }),
    );
  });

  it('is unbounded where too few differences were made', () => {
    expect(signedRankInterval([1, 2, 3, 4, 5, 6], 0.005)).toEqual([-Infinity, Infinity]);
    expect(intervalIndex(8, 0.005)).toBeNull();
    expect(intervalIndex(9, 0.005)).toBe(0);
  });
});
