import { describe, expect, it } from 'vitest';
import type { Sample } from '../../src/evaluator/observers/benchmark-observer.js';
import { seededRandom } from '../../src/evaluator/seeded-random.js';
import { costClause, type SampleBlock, sideCosts } from '../../src/evaluator/side-costs.js';

const limits = { minimumEffect: 0.05, memoryGrowth: 0.2 };
const plain: Sample = { msPerOp: 1, wallMs: 1, importMs: 20, firstCallMs: 20, peakMemoryMiB: 50 };

/** Blocks whose figures spread by `spread` (0.1 = 10 %) around `base` and `patch`; the first six have a control. */
function blocks(n: number, patch: Partial<Sample>, spread = 0, seed = 'costs'): readonly SampleBlock[] {
  const random = seededRandom(seed);
  const noisy = (sample: Sample): Sample => {
    const figure = (value: number | null) =>
      value === null ? null : value * Math.exp(spread * (2 * random() - 1));
    return {
      msPerOp: sample.msPerOp,
      wallMs: figure(sample.wallMs),
      importMs: figure(sample.importMs),
      firstCallMs: figure(sample.firstCallMs),
      peakMemoryMiB: figure(sample.peakMemoryMiB),
    };
  };
  return Array.from({ length: n }, (_, index) => ({
    base: noisy(plain),
    patch: noisy({ ...plain, ...patch }),
    copy: index < 6 ? noisy(plain) : null,
  }));
}

const worse = (found: readonly SampleBlock[]) =>
  sideCosts(found, limits).flatMap((each) => (each.worse ? [each.cost] : []));

describe('side costs', () => {
  it.each([
    [{ importMs: 40 }, 'import-time'],
    [{ firstCallMs: 30 }, 'first-call'],
    [{ wallMs: 1.2 }, 'wall-time'],
    [{ peakMemoryMiB: 65 }, 'peak-memory'],
  ])('are worse where a gain is paid for with %o, at the early look and later', (patch, cost) => {
    expect(worse(blocks(6, patch, 0.01))).toEqual([cost]);
    expect(worse(blocks(14, patch, 0.02))).toEqual([cost]);
  });

  it.each([
    ['below the minimum effect', { importMs: 20.5 }],
    ['below the floor of a clock', { importMs: 21.9 }],
    ['within the growth of memory that is let through', { peakMemoryMiB: 58 }],
    ['better', { importMs: 1, firstCallMs: 1, wallMs: 0.1, peakMemoryMiB: 20 }],
  ])('are not worse when they are %s', (_, patch) => {
    expect(worse(blocks(6, patch))).toEqual([]);
    expect(worse(blocks(20, patch))).toEqual([]);
  });

  it('do not count a little memory or time of a small process', () => {
    const small = blocks(10, {}).map((block) => ({
      ...block,
      base: { ...plain, importMs: 1, peakMemoryMiB: 2 },
      patch: { ...plain, importMs: 2.5, peakMemoryMiB: 5 },
    }));
    expect(worse(small)).toEqual([]);
  });

  it('must stand out of what the control moved by itself', () => {
    const drifting = blocks(10, { importMs: 26 }).map((block) => ({
      ...block,
      copy: block.copy && { ...block.copy, importMs: 25 },
    }));
    expect(worse(drifting)).toEqual([]);
  });

  it('are left out where the kind of benchmark cannot tell', () => {
    const none = { ...plain, importMs: null, firstCallMs: null, peakMemoryMiB: null };
    const found = sideCosts(
      blocks(6, {}).map(() => ({ base: none, patch: none, copy: none })),
      limits,
    );
    expect(found).toEqual([{ cost: 'wall-time', ratio: 1, base: 1, patch: 1, worse: false }]);
  });

  it('refuse equal programs less than once in a hundred measurements, however loud the noise', () => {
    const trials = 200;
    const conditions = [6, 14].flatMap((n) => [0.1, 0.3, 1].map((spread) => ({ n, spread })));
    let refused = 0;
    for (const { n, spread } of conditions) {
      for (let trial = 0; trial < trials; trial++) {
        if (worse(blocks(n, {}, spread, `${n} ${spread} ${trial}`)).length > 0) refused++;
      }
    }
    // Four costs, each at 0.25 % or less, and some room for 1,200 trials.
    expect(refused / (conditions.length * trials)).toBeLessThan(0.015);
  });

  it('are told with both figures', () => {
    const cost = { cost: 'import-time', ratio: 4.67, base: 3, patch: 14, worse: true } as const;
    expect(costClause(cost)).toBe('loading takes 14 ms instead of 3 ms');
  });
});
