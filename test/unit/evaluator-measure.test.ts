import { describe, expect, it } from 'vitest';
import { DEFAULT_PROTOCOL } from '../../src/evaluator/harness-protocol.js';
import { type MeasureRequest, measure } from '../../src/evaluator/measure.js';
import { withCpus } from '../../src/evaluator/measurement-lock.js';
import { createModuleObserver } from '../../src/evaluator/observers/module-observer.js';
import { seededRandom } from '../../src/evaluator/seeded-random.js';
import { createFakeArm, type FakeArmModel } from '../support/fake-arm.js';

/** Cost of `ns` with noise of `spread` (0.05 = 5 %), the same for the same seed. */
function noisy(ns: number, spread: number, seed: string): FakeArmModel['cost'] {
  const random = seededRandom(seed);
  return () => ns * Math.exp(spread * (2 * random() - 1));
}

interface Play {
  readonly base?: Partial<FakeArmModel>;
  readonly patch?: Partial<FakeArmModel>;
  readonly copy?: Partial<FakeArmModel>;
  readonly request?: Partial<MeasureRequest>;
}

function play({ base, patch, copy, request }: Play) {
  const order: string[] = [];
  const arm = (name: string, model: Partial<FakeArmModel> = {}) =>
    createFakeArm({
      cost: noisy(1e6, 0.05, name),
      ...model,
      onCall: (workload) => order.push(`${name}:${workload}`),
    });
  const arms = { base: arm('base', base), patch: arm('patch', patch), copy: arm('copy', copy) };
  let nonces = 0;
  const measurement = measure({
    arms,
    observer: createModuleObserver({
      benchmark: { path: 'bench/a.mjs', entry: 'index.js' },
      protocol: DEFAULT_PROTOCOL,
      nonce: () => `nonce-${nonces++}`,
      timeoutMs: 1000,
    }),
    workloads: ['run'],
    minimumEffect: 0.05,
    memoryGrowth: 0.2,
    seed: 'seed',
    timeLimitMs: 60_000,
    environment: { runtime: 'runc', imageId: 'sha256:1', cpuset: '1' },
    load: () => 0.5,
    now: () => 0,
    progress: () => {},
    signal: new AbortController().signal,
    ...request,
  });
  return { measurement, order };
}

const cost = (ns: number, spread = 0.05, seed = 'patch') => ({ cost: noisy(ns, spread, seed) });

describe('a measurement', () => {
  it('stops at the first look when every pair is far apart', async () => {
    const { measurement, order } = play({ patch: cost(0.5e6) });
    expect(await measurement).toMatchObject({
      verdict: 'faster',
      runs: 18,
      environment: { node: 'v20.20.2', load: [0.5, 0.5] },
      workloads: [{ name: 'run', pairs: 6, control: { blocks: 6, vetoed: false } }],
    });
    expect(order).toHaveLength(18);
  });

  it('goes on to later looks for a small gain, without the control copy', async () => {
    const { measurement, order } = play({ patch: cost(0.88e6, 0.1) });
    const { verdict, workloads, runs } = await measurement;
    expect(verdict).toBe('faster');
    expect(workloads[0]?.pairs).toBeGreaterThanOrEqual(10);
    expect(runs).toBe(2 * (workloads[0]?.pairs ?? 0) + 6);
    expect(order.filter((each) => each === 'copy:run')).toHaveLength(6);
    expect(workloads[0]?.interval?.[0]).toBeGreaterThan(1.02);
    expect(workloads[0]?.speedup).toBeCloseTo(1 / 0.88, 1);
  });

  it('says no change for equal programs, slower for a slower one, inconclusive for noise', async () => {
    expect((await play({}).measurement).verdict).toBe('no-change');
    expect((await play({ patch: cost(1.3e6) }).measurement).verdict).toBe('slower');
    const noise = await play({ patch: cost(1e6, 1), base: cost(1e6, 1, 'base') }).measurement;
    expect(noise).toMatchObject({ verdict: 'inconclusive', reason: expect.stringContaining('Noise') });
    expect(noise.workloads[0]?.pairs).toBe(40);
  });

  it('runs the arms of each block in an order that only its seed decides', async () => {
    const orders = await Promise.all(
      ['a', 'a', 'b'].map(async (seed) => {
        const { measurement, order } = play({ request: { seed } });
        await measurement;
        return order.slice(0, 18);
      }),
    );
    expect(orders[0]).toEqual(orders[1]);
    expect(orders[0]).not.toEqual(orders[2]);
    for (let block = 0; block < 6; block++) {
      const arms = orders[0]?.slice(block * 3, block * 3 + 3) ?? [];
      expect([...arms].sort()).toEqual(['base:run', 'copy:run', 'patch:run']);
    }
  });

  it('is vetoed by a control copy that moved', async () => {
    const measurement = await play({ patch: cost(0.6e6), copy: cost(1.5e6, 0.05, 'copy') }).measurement;
    expect(measurement).toMatchObject({
      verdict: 'inconclusive',
      workloads: [{ control: { vetoed: true } }],
      reason: expect.stringContaining('too noisy'),
    });
  });

  it('ends undecided when its time is up', async () => {
    let clock = 0;
    const now = () => {
      clock += 1000;
      return clock;
    };
    const { measurement } = play({ request: { timeLimitMs: 4000, now } });
    expect(await measurement).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('time'),
    });
    expect((await measurement).workloads[0]?.pairs).toBeLessThan(6);
  });

  it('is not faster when wall time rises', async () => {
    const patch = { ...cost(0.5e6), wall: () => 2e6 };
    expect(await play({ patch }).measurement).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringContaining('waits'),
    });
  });

  it('needs every workload to be no slower', async () => {
    const request = { workloads: ['a', 'b'] };
    const split = (a: number, b: number): Partial<FakeArmModel> => ({
      cost: (workload) => (workload === 'a' ? a : b) * 1e6,
    });
    const mixed = await play({ base: split(1, 1), copy: split(1, 1), patch: split(0.5, 2), request })
      .measurement;
    expect(mixed.verdict).toBe('slower');
    const one = await play({ base: split(1, 1), copy: split(1, 1), patch: split(0.5, 1), request })
      .measurement;
    expect(one.verdict).toBe('faster');
    expect(one.workloads.map((each) => each.verdict)).toEqual(['faster', 'no-change']);
  });

  it('stops when it is told to', async () => {
    const controller = new AbortController();
    const progress = () => controller.abort(new Error('cancelled'));
    const { measurement } = play({ request: { signal: controller.signal, progress } });
    await expect(measurement).rejects.toThrow('cancelled');
  });

  const output = (text: string) => ({ text, totalBytes: text.length, truncated: false });
  it.each<[string, Partial<FakeArmModel>, RegExp]>([
    ['no answer', { result: () => ({ stdout: output('') }) }, /0 answers/],
    ['an answer with another nonce', { answer: (m) => ({ ...m, nonce: 'guessed' }) }, /0 answers/],
    ['two answers', { result: (stdout) => ({ stdout: output(stdout + stdout) }) }, /2 answers/],
    ['an exit code', { result: () => ({ exitCode: 1 }) }, /exit code 1/],
    ['a deadline', { result: () => ({ outcome: 'timed-out', exitCode: null }) }, /deadline/],
    ['no memory', { result: () => ({ outcome: 'out-of-memory', exitCode: null }) }, /memory/],
    ['a figure of zero', { answer: (m) => ({ ...m, cpuNsPerOp: 0 }) }, /cannot be used/],
    ['a negative figure', { answer: (m) => ({ ...m, cpuNsPerOp: -5 }) }, /cannot be used/],
    ['a figure that is no number', { answer: (m) => ({ ...m, cpuNsPerOp: null }) }, /cannot be used/],
    [
      'an error of the benchmark',
      { answer: ({ nonce }) => ({ nonce, ok: false, stage: 'run', message: 'boom' }) },
      /boom/,
    ],
    ['more CPU time than was booked', { booked: (claimed) => claimed / 2 }, /kernel booked/],
    ['much less CPU time than was booked', { booked: (claimed) => claimed * 3 }, /kernel booked/],
    [
      'a figure that its process cannot have used',
      { answer: (m) => ({ ...m, batch: 1e6 }) },
      /kernel booked/,
    ],
  ])('is refused after %s', async (_, patch, message) => {
    await expect(play({ patch }).measurement).rejects.toThrow(message);
  });

  it('is refused when a process stays, not when one is only slow to end', async () => {
    await expect(play({ patch: { leftovers: () => 1 } }).measurement).rejects.toThrow(
      /left a process running/,
    );
    let seen = 0;
    const ending = { ...cost(0.5e6), leftovers: () => (seen++ === 0 ? 1 : 0) };
    expect((await play({ patch: ending }).measurement).verdict).toBe('faster');
  });
});

describe('the lock on CPUs', () => {
  const never = new AbortController().signal;

  it('lets one measurement at a time onto the same CPUs, in order, others beside it', async () => {
    const seen: string[] = [];
    const work = (name: string) => async () => {
      seen.push(`${name} in`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      seen.push(`${name} out`);
    };
    await Promise.all([
      withCpus('1', never, work('a')),
      withCpus('1', never, work('b')),
      withCpus('0', never, work('other')),
    ]);
    expect(seen.filter((each) => !each.startsWith('other'))).toEqual(['a in', 'a out', 'b in', 'b out']);
    expect(seen.indexOf('other in')).toBeLessThan(seen.indexOf('a out'));
  });

  it('is free again after a failure, and for the next in line after one that gave up waiting', async () => {
    const failing = withCpus('2', never, async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new Error('broken');
    });
    const controller = new AbortController();
    const waiting = withCpus('2', controller.signal, async () => 'never');
    const last = withCpus('2', never, async () => 'ran');
    controller.abort(new Error('gave up'));
    await expect(waiting).rejects.toThrow('gave up');
    await expect(failing).rejects.toThrow('broken');
    expect(await last).toBe('ran');
  });
});
