import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combineVerdicts, controlVeto, lookAt } from '../../src/evaluator/gate-rule.js';
import { seededRandom, shuffled } from '../../src/evaluator/seeded-random.js';

const rule = { minimumEffect: 0.05, comparisons: 1 };

/** Log ratios of a patch at `ratio` of the base's time with uniform noise of `spread` to both sides. */
function noisy(n: number, ratio: number, spread: number, seed = 'self-test'): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: n }, () => Math.log(ratio) + spread * (2 * random() - 1));
}

describe('the decision at a look', () => {
  it('passes the self-test of the reference', () => {
    expect(lookAt(noisy(6, 0.5, 0.1), rule).verdict).toBe('faster');
    expect(lookAt(noisy(20, 1, 0.05), rule).verdict).toBe('no-change');
    expect(lookAt(noisy(20, 0.85, 0.1), rule).verdict).toBe('faster');
    expect(lookAt(noisy(20, 1.2, 0.1), rule).verdict).toBe('slower');
    expect(lookAt(noisy(40, 1, 1), rule).verdict).toBe('inconclusive');
    expect(lookAt(noisy(7, 1, 0.05), rule)).toMatchObject({ verdict: null, nextLook: 10 });
  });

  it('decides early only when all six pairs pass 1.5x in the same direction', () => {
    const clear = lookAt(new Array(6).fill(Math.log(1 / 1.6)), rule);
    expect(clear).toMatchObject({ verdict: 'faster', intervalKind: 'range of the paired ratios' });
    expect(clear.interval?.[0]).toBeCloseTo(Math.log(1 / 1.6), 12);
    expect(lookAt(new Array(6).fill(Math.log(1.6)), rule).verdict).toBe('slower');
    const oneWeak = [...new Array<number>(5).fill(Math.log(0.1)), Math.log(1 / 1.49)];
    expect(lookAt(oneWeak, rule)).toMatchObject({ verdict: null, nextLook: 10 });
  });

  it('never decides between looks, whatever the ratios', () => {
    for (const n of [1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 19, 21, 27, 29, 39]) {
      expect(lookAt(new Array(n).fill(Math.log(0.1)), rule).verdict).toBeNull();
    }
  });

  it('gives no interval for fewer pairs than any needs', () => {
    expect(lookAt(noisy(8, 0.9, 0.05), rule).interval).toBeNull();
    expect(lookAt(noisy(9, 0.9, 0.05), rule).interval).not.toBeNull();
  });

  it('refuses a gain whose interval reaches below half of the minimum effect', () => {
    // Estimate beyond 5 %, upper bound between 0 and the half-effect bound: the first version of the rule said faster.
    const d = [-0.02, -0.02, -0.03, -0.05, -0.09, -0.1, -0.1, -0.11, -0.12, -0.13];
    const look = lookAt(d, rule);
    expect(look.estimate).toBeLessThan(Math.log(0.95));
    expect(look.interval?.[1]).toBeLessThan(0);
    expect(look.interval?.[1]).toBeGreaterThan(Math.log(0.975));
    expect(look.verdict).toBeNull();
  });

  it('takes the minimum effect from the settings', () => {
    const d = noisy(20, 0.96, 0.005);
    expect(lookAt(d, rule).verdict).toBe('no-change');
    expect(lookAt(d, { minimumEffect: 0.03, comparisons: 1 }).verdict).toBe('faster');
  });

  it('asks for a stricter level when several workloads are judged together', () => {
    const d = noisy(10, 0.9, 0.02);
    expect(lookAt(d, rule).verdict).toBe('faster');
    // No interval at 0.005 / 3 exists for ten pairs.
    expect(lookAt(d, { minimumEffect: 0.05, comparisons: 3 }).verdict).toBeNull();
    expect(lookAt(noisy(14, 0.9, 0.02), { minimumEffect: 0.05, comparisons: 3 }).verdict).toBe('faster');
  });

  it('always ends at the fortieth pair', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: 40, maxLength: 40 }),
        (d) => {
          expect(lookAt(d, rule).verdict).not.toBeNull();
        },
      ),
      { numRuns: 50 },
    );
  });

  it('sees slower where faster is seen with the sides exchanged', () => {
    const other = {
      faster: 'slower',
      slower: 'faster',
      'no-change': 'no-change',
      inconclusive: 'inconclusive',
    };
    fc.assert(
      fc.property(
        fc.constantFrom(6, 10, 14, 20),
        fc.constantFrom(0.4, 0.8, 0.95, 1, 1.1, 2),
        fc.integer(),
        (n, ratio, seed) => {
          const d = noisy(n, ratio, 0.1, String(seed));
          const there = lookAt(d, rule).verdict;
          const back = lookAt(
            d.map((x) => -x),
            rule,
          ).verdict;
          // With the sides exchanged the bound of 5 % is taken of the other time: -ln 0.95 for both, so exact mirrors.
          expect(back).toBe(there === null ? null : other[there]);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('refuses figures that are no numbers', () => {
    expect(() => lookAt([0, Number.NaN], rule)).toThrow(RangeError);
    expect(() => lookAt([Number.NEGATIVE_INFINITY], rule)).toThrow(RangeError);
  });
});

describe('the control copy', () => {
  it('forbids a verdict when it moved more than 5 % and more than half of the effect', () => {
    expect(controlVeto([0.04, 0.05, 0.03, 0.04], Math.log(0.9)).vetoed).toBe(false);
    expect(controlVeto([0.08, 0.07, 0.09, 0.08], Math.log(0.9)).vetoed).toBe(true);
    expect(controlVeto([-0.08, -0.07, -0.09, -0.08], Math.log(0.9)).vetoed).toBe(true);
    expect(controlVeto([0.08, 0.07, 0.09, 0.08], Math.log(0.5)).vetoed).toBe(false);
  });

  it('forbids a verdict when it was never measured', () => {
    expect(controlVeto([], Math.log(0.5)).vetoed).toBe(true);
  });
});

describe('several workloads', () => {
  it('are faster together only when none is slower', () => {
    expect(combineVerdicts(['faster', 'no-change', 'inconclusive'])).toBe('faster');
    expect(combineVerdicts(['faster', 'slower'])).toBe('slower');
    expect(combineVerdicts(['no-change', 'no-change'])).toBe('no-change');
    expect(combineVerdicts(['no-change', 'inconclusive'])).toBe('inconclusive');
    expect(combineVerdicts([])).toBe('inconclusive');
  });
});

describe('the seeded order', () => {
  it('is the same for the same seed, another for another, and keeps every item', () => {
    const items = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    const order = shuffled(items, seededRandom('a'));
    expect(shuffled(items, seededRandom('a'))).toEqual(order);
    expect(shuffled(items, seededRandom('b'))).not.toEqual(order);
    expect([...order].sort()).toEqual(items);
  });

  it('puts each arm first about equally often', () => {
    const random = seededRandom('fair');
    const first = { base: 0, patch: 0, copy: 0 };
    for (let i = 0; i < 3000; i++) {
      const [arm] = shuffled(['base', 'patch', 'copy'] as const, random);
      if (arm !== undefined) first[arm]++;
    }
    for (const count of Object.values(first)) expect(Math.abs(count - 1000)).toBeLessThan(120);
  });
});
