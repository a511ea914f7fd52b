import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseMetric } from '../../src/evaluator/observers/command-metric.js';
import { runsPerObservation } from '../../src/evaluator/observers/command-output.js';
import type { CommandRun } from '../../src/evaluator/observers/command-protocol.js';

const run = (cpuMs: number, wallMs: number): CommandRun => ({
  exitCode: 0,
  cpuUs: cpuMs * 1e3,
  wallNs: wallMs * 1e6,
  maxRssKb: 9000,
});

describe('the metric of a command', () => {
  it('is CPU time for work, on a busy machine too as long as one run was let through', () => {
    const disturbed = [run(50, 200), run(50, 160), run(50, 55)];
    expect(chooseMetric(disturbed, [run(30, 90), run(30, 33)])).toEqual({ metric: 'cpu-time', reason: null });
  });

  it('is wall time where the base waits, or the patch waits otherwise than the base', () => {
    expect(chooseMetric([run(3, 100), run(4, 104)], [run(3, 50)])).toEqual({
      metric: 'wall-time',
      reason: 'The command waits: it uses the CPU for 4 % of its time on the base.',
    });
    expect(chooseMetric([run(100, 100)], [run(50, 100)])).toEqual({
      metric: 'wall-time',
      reason:
        'The patch changes how much the command waits: it uses the CPU for 100 % of its time on the base, 50 % on the patch.',
    });
    expect(chooseMetric([run(100, 100)], [run(100, 50)]).metric).toBe('wall-time');
  });

  it('is CPU time for commands that are hardly more than a start', () => {
    expect(chooseMetric([run(1, 3)], [run(1, 2)]).metric).toBe('cpu-time');
  });

  it('never changes by runs that other load slowed down', () => {
    const share = fc.double({ min: 0.1, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        share,
        share,
        fc.array(fc.double({ min: 1, max: 20, noNaN: true }), { maxLength: 5 }),
        (base, patch, slow) => {
          const quiet = chooseMetric([run(100 * base, 100)], [run(100 * patch, 100)]);
          const loaded = [run(100 * base, 100), ...slow.map((factor) => run(100 * base, 100 * factor))];
          expect(chooseMetric(loaded, [run(100 * patch, 100)])).toEqual(quiet);
        },
      ),
    );
  });

  it('takes several runs into an observation until they take a tenth of a second', () => {
    expect(runsPerObservation([run(20, 25)])).toBe(4);
    expect(runsPerObservation([run(1, 120)])).toBe(1);
    expect(runsPerObservation([run(0, 1)])).toBe(50);
    expect(runsPerObservation([run(5000, 9000)])).toBe(1);
  });
});
