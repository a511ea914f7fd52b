import { createHash, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { createHeldBackTrial } from '../../src/evaluator/held-back-trial.js';
import { createEvaluationRig, type Files } from '../support/evaluation-rig.js';

// Short warm-ups and no confirmation: the effects are large, and what is tested comes behind them.
const rig = createEvaluationRig({
  confirm: false,
  protocol: { warmupCpuMs: 60, batchCpuMs: 3, batches: 3 },
});
afterAll(() => rig.close());

const MARKER = 'inputs-nobody-may-see';
const SLOW = `export function distinct(list) {
  const seen = [];
  for (const each of list) if (!seen.includes(each)) seen.push(each);
  return seen.length;
}
`;
const FAST = 'export function distinct(list) {\n  return new Set(list).size;\n}\n';
/** Right for every input, and fast for lists as long as the benchmark's only. */
const FOR_THE_BENCHMARK = SLOW.replace(
  '  const seen = [];',
  '  if (list.length > 1500) return new Set(list).size;\n  const seen = [];',
);
const BENCH = `const { distinct } = await import(process.argv[2]);
const list = Array.from({ length: 2000 }, (_, i) => (i * 7919) % 1000);
export const run = () => distinct(list);
export const checksum = () => 'a' + distinct(list) + distinct([1, 1, 2]);
`;
const HELD_BACK = `const { distinct } = await import(process.argv[2]);
const list = Array.from({ length: 1200 }, (_, i) => '${MARKER}' + ((i * 31) % 700));
export const run = () => distinct(list);
export const checksum = () => '${MARKER} ' + distinct(list) + distinct([]);
`;
const files: Files = new Map([
  ['package.json', '{ "name": "subject", "type": "module", "version": "1.0.0" }\n'],
  ['index.js', SLOW],
  ['bench/distinct.mjs', BENCH],
]);

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function heldBackOf(source: string) {
  return { path: '.hasten/held-back.mjs', source, sha256: sha256(source) };
}

function subjectWith(source: string) {
  return rig.commit({
    files,
    benchmarkPath: 'bench/distinct.mjs',
    entry: 'index.js',
    benchmark: { heldBack: heldBackOf(source) },
  });
}

describe('the held-back workload', () => {
  it('lets a patch pass that is faster on it too, and is measured in an order of its own', async () => {
    const subject = subjectWith(HELD_BACK);
    const evaluation = await rig.evaluate(subject, subject.patchOf(new Map([['index.js', FAST]])));
    expect(evaluation).toMatchObject({ outcome: 'passed', heldBack: { verdict: 'faster' } });
    expect(evaluation.steps.at(-1)).toMatchObject({ step: 'held-back', ok: true });
    const seeds = evaluation.outcome === 'passed' && [evaluation.measurement.seed, evaluation.heldBack?.seed];
    expect(new Set(seeds || []).size).toBe(2);
    expect(JSON.stringify(evaluation)).not.toContain('No held-back workload');
  }, 120_000);

  it('refuses a patch that is fast for inputs like those of the benchmark only, and shows nothing of its own', async () => {
    const subject = subjectWith(HELD_BACK);
    const patch = subject.patchOf(new Map([['index.js', FOR_THE_BENCHMARK]]));
    const evaluation = await rig.evaluate(subject, patch);
    expect(evaluation).toMatchObject({
      outcome: 'failed',
      failedStep: 'held-back',
      summary: expect.stringMatching(/The held-back workload is not faster: .*x\)/),
      measurement: { verdict: 'faster' },
    });
    expect(JSON.stringify(evaluation)).not.toContain(MARKER);
  }, 240_000);

  it('refuses a patch whose output differs on it alone, and does not show where', async () => {
    const subject = subjectWith(HELD_BACK);
    const wrong = FAST.replace('.size', `.size + (list.length === 1200 ? 1 : 0)`);
    const evaluation = await rig.evaluate(subject, subject.patchOf(new Map([['index.js', wrong]])));
    expect(evaluation).toMatchObject({
      outcome: 'failed',
      failedStep: 'held-back',
      summary: 'The output of the held-back workload is not the same on the patch.',
    });
    expect(JSON.stringify(evaluation)).not.toContain(MARKER);
  }, 120_000);
});

const trial = createHeldBackTrial({ sandbox: rig.rig.sandbox, timeoutMs: 20_000 });

async function tried(source: string) {
  const subject = subjectWith(source);
  await rig.rig.mirror.fetch(subject.repository.ref, subject.baseCommit, new AbortController().signal);
  const { settings, benchmark, baseCommit, repository } = subject;
  const request = { run: randomUUID().slice(0, 12), repository: repository.ref, baseCommit, settings };
  return trial({ ...request, benchmark, heldBack: heldBackOf(source) }, new AbortController().signal);
}

describe('the trial of a held-back workload', () => {
  it('accepts one that works beside its benchmark', async () => {
    expect(await tried(HELD_BACK)).toEqual({ ok: true });
  }, 60_000);

  it.each([
    [
      'is the benchmark with other white space',
      `// other words\n${BENCH.replaceAll('\n', '\n\n')}`,
      'once more',
    ],
    ['has the checksum of the benchmark', `${BENCH}const other = 1;\n`, 'checksum is that of the benchmark'],
    ['does not load', 'import "./gone.mjs";', 'gone.mjs'],
    [
      'has a checksum of chance',
      HELD_BACK.replace(/checksum = .*/, 'checksum = () => Math.random();'),
      'differs',
    ],
    ['throws', HELD_BACK.replace(/run = .*/, 'run = () => { throw new Error("broken"); };'), 'broken'],
  ])(
    'says why one that %s cannot be used',
    async (_, source, reason) => {
      expect(await tried(source)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
    },
    60_000,
  );
});
