import { createHash, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { createBenchmarkTrial } from '../../src/evaluator/benchmark-trial.js';
import { createEvaluationRig } from '../support/evaluation-rig.js';

const rig = createEvaluationRig();
afterAll(() => rig.close());

const trial = createBenchmarkTrial({ sandbox: rig.rig.sandbox, timeoutMs: 20_000 });
const GOOD = `const { work } = await import(process.argv[2]);
export const workloads = { small: () => work(2000), large: () => work(200000) };
export const checksum = () => String(work(7));
`;

async function tried(source: string, build: string | null = null) {
  const subject = rig.commit({
    files: new Map([
      ['package.json', '{ "name": "subject", "type": "module", "version": "1.0.0" }\n'],
      [
        'index.js',
        'export function work(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; }\n',
      ],
      ['bench.mjs', source],
    ]),
    benchmarkPath: 'bench.mjs',
    entry: 'index.js',
    settings: { build },
    benchmark: {
      origin: 'hasten',
      path: '.hasten/trial.bench.mjs',
      sha256: createHash('sha256').update(source).digest('hex'),
    },
  });
  await rig.rig.mirror.fetch(subject.repository.ref, subject.baseCommit, new AbortController().signal);
  return trial(
    {
      run: randomUUID().slice(0, 12),
      repository: subject.repository.ref,
      baseCommit: subject.baseCommit,
      settings: subject.settings,
      benchmark: subject.benchmark,
    },
    new AbortController().signal,
  );
}

describe('the trial of a benchmark before it is frozen', () => {
  it('measures each workload on the base, from a file that is laid over the tree', async () => {
    const answer = await tried(GOOD);
    expect(answer).toMatchObject({ ok: true, workloads: [{ name: 'small' }, { name: 'large' }] });
    const [small, large] = answer.ok ? answer.workloads : [];
    expect(small?.msPerOp).toBeGreaterThan(0);
    expect(large?.msPerOp).toBeGreaterThan(10 * (small?.msPerOp ?? Number.POSITIVE_INFINITY));
  }, 60_000);

  it('finds the hot function of the base with its file, line and share', async () => {
    // Long loops only: V8 books a short function that it inlined to its caller.
    const answer = await tried(GOOD.replace('small: () => work(2000), ', ''));
    const [hottest] = answer.ok ? answer.profile : [];
    expect(hottest).toMatchObject({ name: 'work', file: 'index.js', line: 1 });
    expect(hottest?.share).toBeGreaterThan(0.6);
  }, 60_000);

  it.each([
    ['does not load', 'import "./gone.mjs";', 'gone.mjs'],
    ['exports nothing to run', 'export const x = 1;', 'neither a function "run"'],
    ['has a checksum of chance', `${GOOD}`.replace('work(7)', 'Math.random()'), 'differs between two runs'],
    [
      'throws',
      `${GOOD}`.replace('work(200000)', '{ throw new Error("broken workload") }'),
      'broken workload',
    ],
  ])(
    'says why a benchmark that %s cannot be used',
    async (_, source, reason) => {
      expect(await tried(source)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
    },
    60_000,
  );

  it('says so when the base does not build', async () => {
    expect(await tried(GOOD, 'exit 3')).toMatchObject({
      ok: false,
      reason: expect.stringContaining('build fails on the base'),
    });
  }, 60_000);
});
