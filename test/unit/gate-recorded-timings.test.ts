import { describe, expect, it } from 'vitest';
import { playWindow, type Recording, readRecording } from '../support/recorded-timings.js';

const rule = { minimumEffect: 0.05, comparisons: 1 };

/** Arms of the program that does 2000 units: the base and, in the mixed recordings, its copy. */
function sameArms(recording: Recording): [number, number] {
  const [first = -1, second = -1] = [...recording.units]
    .filter(([, units]) => units === 2000)
    .map(([arm]) => arm);
  return [first, second];
}

/** Share of `faster` over every window of the recording, each with the two equal programs in both roles. */
function shareFaster(recording: Recording, patchUnits: number, withControl: boolean): number {
  const [first, second] = sameArms(recording);
  const target = [...recording.units].find(([, units]) => units === patchUnits)?.[0] ?? -1;
  let faster = 0;
  for (let start = 0; start < recording.cycles.length; start++) {
    for (const [base, other] of [
      [first, second],
      [second, first],
    ] as const) {
      const patch = patchUnits === 2000 ? other : target;
      const copy = withControl ? other : null;
      if (playWindow(recording, start, { base, patch, copy }, rule).verdict === 'faster') faster++;
    }
  }
  return faster / (2 * recording.cycles.length);
}

describe('the rule over recorded timings', () => {
  it.each(['ambient-aa', 'bursty-aa', 'ambient-mix', 'bursty-mix'])(
    'never takes the same program for a faster one (%s)',
    async (name) => {
      expect(shareFaster(await readRecording(name), 2000, false)).toBe(0);
    },
  );

  it.each([['ambient-mix'], ['bursty-mix']])('finds a tenth and a fifth less work (%s)', async (name) => {
    const recording = await readRecording(name);
    expect(shareFaster(recording, 1800, false)).toBeGreaterThanOrEqual(0.9);
    expect(shareFaster(recording, 1600, false)).toBeGreaterThanOrEqual(0.98);
  });

  it('gives up some of a tenth, none of a fifth, where the control copy moved', async () => {
    const recording = await readRecording('ambient-mix');
    expect(shareFaster(recording, 1800, true)).toBeGreaterThanOrEqual(0.85);
    expect(shareFaster(recording, 1600, true)).toBeGreaterThanOrEqual(0.98);
  });
});
