import { describe, expect, it } from 'vitest';
import { DEFAULT_EVALUATE_OPTIONS } from '../../src/evaluator/evaluate-station.js';
import { DEFAULT_PROTOCOL } from '../../src/evaluator/harness-protocol.js';
import {
  confirm,
  type MeasurementPlan,
  type MeasuringContext,
  measureToVerdict,
} from '../../src/evaluator/measurement-step.js';
import { createModuleObserver } from '../../src/evaluator/observers/module-observer.js';
import { createFakeArm } from '../support/fake-arm.js';
import { sampleSettings } from '../support/run-samples.js';

const QUIET = 1;
const NOISY = 2;

const context: MeasuringContext = {
  settings: sampleSettings({
    timeouts: { installMs: 60_000, buildMs: 60_000, testMs: 60_000, measureMs: 60_000 },
  }),
  options: DEFAULT_EVALUATE_OPTIONS,
  station: { signal: new AbortController().signal, now: () => 0, progress: () => undefined },
};

const observer = createModuleObserver({
  benchmark: { path: 'bench/a.mjs', entry: 'index.js' },
  protocol: DEFAULT_PROTOCOL,
  nonce: () => 'nonce',
  timeoutMs: 1000,
});

/** Arms of a patch that is 1.67 times as fast, with a copy of the base that costs `copyFactor` times as much. */
function arms(copyFactor: number) {
  const arm = (ns: number) => createFakeArm({ cost: () => ns });
  return { base: arm(1_000_000), patch: arm(600_000), copy: arm(1_000_000 * copyFactor) };
}

/** Gives one set of arms per measurement, in order; the first is open already. */
function planOf(factors: readonly number[]): MeasurementPlan & { readonly left: () => number } {
  const [first = QUIET, ...others] = factors;
  return {
    arms: arms(first),
    session: {
      renew: async () => {
        const factor = others.shift();
        if (factor === undefined) throw new Error('More measurements than expected.');
        return arms(factor);
      },
    },
    compared: { workloads: ['run'], observer },
    seed: 'seed',
    environment: { runtime: 'runc', imageId: 'sha256:1', cpuset: '1' },
    left: () => others.length,
  };
}

describe('a measurement on a noisy machine', () => {
  it('is made again when its control moved, and then stands', async () => {
    const plan = planOf([NOISY, NOISY, QUIET]);
    expect(await measureToVerdict(context, plan)).toMatchObject({ verdict: 'faster' });
    expect(plan.left()).toBe(0);
  });

  it('is inconclusive when its control moved each time', async () => {
    const plan = planOf([NOISY, NOISY, NOISY]);
    expect(await measureToVerdict(context, plan)).toMatchObject({
      verdict: 'inconclusive',
      workloads: [{ control: { vetoed: true } }],
    });
  });

  it('is confirmed by the first quiet repetition, and refused when none is quiet', async () => {
    const confirmed = planOf([QUIET, NOISY, QUIET]);
    expect(await confirm(context, confirmed)).toMatchObject({ verdict: 'faster' });
    expect(confirmed.left()).toBe(0);
    await expect(confirm(context, planOf([QUIET, NOISY, NOISY, NOISY]))).rejects.toMatchObject({
      code: 'NOT_CONFIRMED',
    });
  });
});
