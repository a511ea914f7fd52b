import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOOKS, lookAt, lookAtFamily } from '../../src/evaluator/gate-rule.js';
import { seededRandom } from '../../src/evaluator/seeded-random.js';

const MINIMUM_EFFECT = 0.05;
/** The largest effect that must not be called faster: half the minimum effect. */
const EDGE = Math.log(1 - MINIMUM_EFFECT / 2);

function noisy(n: number, centre: number, spread: number, random: () => number): number[] {
  return Array.from({ length: n }, () => centre + spread * (random() + random() + random() - 1.5));
}

const family = (size: number, faster = 0) => ({ size, faster, minimumEffect: MINIMUM_EFFECT });
const verdicts = (looks: ReturnType<typeof lookAtFamily>) => looks.map(({ verdict }) => verdict);

/** Looks at growing prefixes as a measurement does; whether any workload is ever called faster. */
function everFaster(series: readonly (readonly number[])[]): boolean {
  let open = series;
  for (const look of LOOKS) {
    const found = lookAtFamily(
      open.map((d) => d.slice(0, look)),
      family(series.length),
    );
    if (found.some(({ verdict }) => verdict === 'faster')) return true;
    open = open.filter((_, index) => found[index]?.verdict === null);
  }
  return false;
}

describe('several workloads side by side', () => {
  it('are judged as one alone where there is but one', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...LOOKS),
        fc.constantFrom(0.3, 0.8, 0.9, 1, 1.3),
        fc.integer(),
        (n, ratio, seed) => {
          const d = noisy(n, Math.log(ratio), 0.1, seededRandom(String(seed)));
          const alone = lookAt(d, { minimumEffect: MINIMUM_EFFECT, comparisons: 1 });
          expect(lookAtFamily([d], family(1))).toEqual([alone]);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('pass where Bonferroni lets them, and more of them once some have passed', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 10 }),
        fc.constantFrom(10, 14, 20, 28, 40),
        fc.integer(),
        (size, n, seed) => {
          const random = seededRandom(String(seed));
          const open = Array.from({ length: size }, () => noisy(n, -0.3 * random(), 0.2 * random(), random));
          const holm = lookAtFamily(open, family(size));
          open.forEach((d, index) => {
            const bonferroni = lookAt(d, { minimumEffect: MINIMUM_EFFECT, comparisons: size });
            if (bonferroni.verdict === 'faster') expect(holm[index]?.verdict).toBe('faster');
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('step down: a workload that does not pass at the level of three passes once the others have', () => {
    // Ten pairs have an interval at 0.005 / 2 but none at 0.005 / 3.
    const clear = noisy(10, Math.log(0.6), 0.02, seededRandom('clear'));
    const plain = noisy(14, Math.log(0.9), 0.02, seededRandom('plain'));
    expect(verdicts(lookAtFamily([clear.slice(), clear.slice(), clear.slice()], family(3)))).toEqual([
      null,
      null,
      null,
    ]);
    expect(verdicts(lookAtFamily([clear], family(3, 1)))).toEqual(['faster']);
    // Fourteen pairs: the lowest Walsh averages decide, at a level of 0.005 / 2 but not of 0.005 / 10.
    const weak = [...plain.slice(0, 12), 0.005, 0.01];
    const strong = Array.from({ length: 9 }, () => plain);
    const alone = lookAt(weak, { minimumEffect: MINIMUM_EFFECT, comparisons: 10 });
    expect(alone.verdict).toBeNull();
    expect(verdicts(lookAtFamily([...strong, weak], family(10)))).toEqual(new Array(10).fill('faster'));
  });

  it('are called faster at the early look only all together, slower each by itself', () => {
    const far = new Array<number>(6).fill(-1);
    const none = new Array<number>(6).fill(0);
    expect(verdicts(lookAtFamily([far, far], family(2)))).toEqual(['faster', 'faster']);
    expect(verdicts(lookAtFamily([far, none], family(2)))).toEqual([null, null]);
    expect(lookAtFamily([far, none], family(2))[0]?.nextLook).toBe(10);
    expect(verdicts(lookAtFamily([far, far.map((d) => -d)], family(2)))).toEqual([null, 'slower']);
  });

  it.each([1, 3, 10])(
    'keep the family-wise false alarm of %i workloads that gain half the minimum effect',
    (size) => {
      const trials = 250;
      for (const spread of [0.3, 3]) {
        const random = seededRandom(`family ${size} ${spread}`);
        let wrong = 0;
        for (let trial = 0; trial < trials; trial++) {
          if (everFaster(Array.from({ length: size }, () => noisy(40, EDGE, spread, random)))) wrong++;
        }
        // One-sided 0.25 % at five looks and 1/64 at the early one; three standard deviations of the trials above that.
        const bound = 5 * 0.0025 + 1 / 64;
        expect(wrong / trials).toBeLessThan(bound + 3 * Math.sqrt((bound * (1 - bound)) / trials));
      }
    },
  );
});
