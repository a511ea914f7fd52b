import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createEvaluationRig, type Files, type Subject } from '../support/evaluation-rig.js';

/** Short but real: enough for effects of several times. */
const rig = createEvaluationRig({
  protocol: { warmupCpuMs: 60, batchCpuMs: 3, batches: 3 },
  observationTimeoutMs: 15_000,
  confirm: false,
});
afterAll(() => rig.close());
beforeEach(() => {
  rig.lines.length = 0;
});

const SLOW = `import { note } from './note.js';
export function total(list) {
  let sum = 0;
  for (let round = 0; round < 40; round++) sum = list.reduce((all, each) => all + each, 0);
  note();
  return sum;
}
`;
const FAST = SLOW.replace('round < 40', 'round < 4');
const NOTE = 'export function note() {}\n';
const BENCH = `const { total } = await import(process.argv[2]);
const list = Array.from({ length: 500 }, (_, i) => i);
export function run() { return total(list); }
export function checksum() { return String(total([1, 2, 3])) + ',' + total(list); }
`;
const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { total } from '../index.js';
test('adds up', () => assert.equal(total([4, 5]), 9));
test('of nothing is zero', () => assert.equal(total([]), 0));
`;

const files: Files = new Map([
  ['package.json', '{ "name": "subject", "type": "module", "version": "1.0.0" }\n'],
  ['index.js', SLOW],
  ['note.js', NOTE],
  ['bench/total.mjs', BENCH],
  ['test/total.test.js', TEST],
]);
const base: Subject = {
  files,
  benchmarkPath: 'bench/total.mjs',
  entry: 'index.js',
  settings: { test: 'node --test' },
};

async function evaluated(patchFiles: Record<string, string | null>, changes: Partial<Subject> = {}) {
  const subject = rig.commit({ ...base, ...changes });
  return rig.evaluate(subject, subject.patchOf(new Map(Object.entries(patchFiles))));
}

/** What the policy would refuse in a patch stands in the base already, switched off: the patch only switches it on. */
function switchedOn(note: string) {
  const on = note.replace('const on = false', 'const on = true');
  return evaluated(
    { 'note.js': on, 'index.js': SLOW.replace('round < 40', 'round < 39') },
    { files: new Map([...files, ['note.js', note]]), settings: { test: null } },
  );
}

describe('the gate', () => {
  it('passes a patch that is faster and changes nothing else', async () => {
    const evaluation = await evaluated({ 'index.js': FAST });
    expect(evaluation.steps).toMatchObject([
      { step: 'policy', ok: true },
      { step: 'build', ok: true },
      { step: 'checks', ok: true },
      {
        step: 'tests',
        ok: true,
        summary: expect.stringContaining('2 tests pass on the patch, 2 on the base.'),
      },
      { step: 'changed-lines', ok: true },
      { step: 'same-output', ok: true },
      { step: 'measurement', ok: true },
    ]);
    expect(evaluation).toMatchObject({
      outcome: 'passed',
      draftReasons: [expect.stringContaining('No held-back workload')],
    });
    expect(rig.lines.some((line) => line.startsWith('measuring run: 6 of at most 40 pairs'))).toBe(true);
  }, 120_000);

  it('refuses a patch that touches tests, before anything runs', async () => {
    const evaluation = await evaluated({ 'index.js': FAST, 'test/total.test.js': '// nothing to see\n' });
    expect(evaluation).toMatchObject({ outcome: 'failed', failedStep: 'policy', measurement: null });
    expect(evaluation).toMatchObject({ evidence: expect.stringContaining('test/total.test.js') });
    expect(evaluation.steps).toHaveLength(1);
  }, 60_000);

  it('refuses a patch whose diff does not make the tree it claims', async () => {
    const subject = rig.commit(base);
    const patch = subject.patchOf(new Map([['index.js', FAST]]));
    const other = subject.patchOf(new Map([['index.js', `${FAST}// other\n`]]));
    const evaluation = await rig.evaluate(subject, { ...patch, tree: other.tree });
    expect(evaluation).toMatchObject({ outcome: 'failed', failedStep: 'policy' });
    expect(evaluation).toMatchObject({ evidence: expect.stringContaining(other.tree) });
  }, 60_000);

  it('refuses a patch that does not apply', async () => {
    const [subject, another] = [
      rig.commit(base),
      rig.commit({ ...base, files: new Map([...files, ['index.js', 'x\n']]) }),
    ];
    const patch = another.patchOf(new Map([['index.js', 'y\n']]));
    const evaluation = await rig.evaluate(subject, { ...patch, baseCommit: subject.baseCommit });
    expect(evaluation).toMatchObject({ outcome: 'failed', failedStep: 'policy' });
    expect(evaluation).toMatchObject({ summary: expect.stringContaining('does not apply') });
  }, 60_000);

  it('gives the test output as evidence for a patch that breaks a test', async () => {
    const evaluation = await evaluated({ 'index.js': FAST.replace('all + each, 0', 'all + each, 1') });
    expect(evaluation).toMatchObject({
      outcome: 'failed',
      failedStep: 'tests',
      summary: expect.stringContaining('2 tests fail'),
      evidence: expect.stringContaining('adds up'),
    });
  }, 60_000);

  it('says that no patch can be verified when the base is red', async () => {
    const red = TEST.replace('total([]), 0', 'total([]), 7').replace('total([4, 5]), 9', 'total([4, 5]), 7');
    const evaluation = await evaluated(
      { 'index.js': FAST },
      { files: new Map([...files, ['test/total.test.js', red]]) },
    );
    expect(evaluation).toMatchObject({
      outcome: 'failed',
      failedStep: 'tests',
      summary: expect.stringContaining('tests fail on the base commit'),
    });
  }, 60_000);

  it('tests in workspaces of their own where the tests write files', async () => {
    const writing = `${TEST}import { writeFileSync } from 'node:fs';
test('writes', () => writeFileSync('index.js', 'export const total = () => 124750;'));
`;
    const evaluation = await evaluated(
      { 'index.js': FAST },
      { files: new Map([...files, ['test/total.test.js', writing]]) },
    );
    // What the tests wrote into their workspaces is not what was compared and measured.
    expect(evaluation.steps.find(({ step }) => step === 'tests')).toMatchObject({ ok: true });
    expect(evaluation).toMatchObject({ outcome: 'passed' });
  }, 120_000);

  it('runs the build command on both sides and fails where the patch does not build', async () => {
    const build = 'cp index.js built.js && ! grep "does not build" built.js';
    const settings = { test: null, build };
    const evaluation = await evaluated(
      { 'index.js': `${FAST}// does not build\n` },
      { settings, entry: 'built.js' },
    );
    expect(evaluation).toMatchObject({
      outcome: 'failed',
      failedStep: 'build',
      summary: expect.stringContaining('fails on the patch'),
      evidence: expect.stringContaining('// does not build'),
    });
    const good = await evaluated({ 'index.js': FAST }, { settings, entry: 'built.js' });
    expect(good).toMatchObject({
      outcome: 'passed',
      draftReasons: expect.arrayContaining([expect.stringContaining('no test command')]),
    });
  }, 180_000);

  it('shows where the output of the benchmark changed', async () => {
    const evaluation = await evaluated({
      'index.js': FAST.replace('return sum', 'return list.length > 2 ? sum + 1 : sum'),
    });
    expect(evaluation).toMatchObject({
      outcome: 'failed',
      failedStep: 'same-output',
      evidence: expect.stringMatching(/base: "6,124750"\npatch: "7,124751"/),
    });
  }, 60_000);

  it('refuses a benchmark whose checksum depends on chance', async () => {
    const chance = BENCH.replace('String(total([1, 2, 3]))', 'String(Math.random())');
    const evaluation = await evaluated(
      { 'index.js': FAST },
      { files: new Map([...files, ['bench/total.mjs', chance]]) },
    );
    expect(evaluation).toMatchObject({
      outcome: 'failed',
      failedStep: 'same-output',
      summary: expect.stringContaining('two runs of the base'),
    });
  }, 60_000);

  it('refuses a benchmark whose checksum says nothing', async () => {
    const nothing = BENCH.replace(
      /export function checksum.*/,
      'export function checksum() { return 0 / 0; }',
    );
    const evaluation = await evaluated(
      { 'index.js': FAST },
      { files: new Map([...files, ['bench/total.mjs', nothing]]) },
    );
    expect(evaluation).toMatchObject({ outcome: 'failed', failedStep: 'same-output' });
    expect(evaluation).toMatchObject({ summary: expect.stringContaining('NaN') });
  }, 60_000);

  it('refuses a patch that sleeps instead of working', async () => {
    const heavy = SLOW.replace('round < 40', 'round < 2000');
    const sleeping = FAST.replace(
      'note();',
      'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);',
    );
    const evaluation = await evaluated(
      { 'index.js': sleeping },
      { files: new Map([...files, ['index.js', heavy]]) },
    );
    // The measurement itself refuses it too: see evaluator-observers.test.ts.
    expect(evaluation).toMatchObject({ outcome: 'failed', failedStep: 'policy' });
  }, 180_000);

  it('refuses a patch that makes the base leave a process behind', async () => {
    const leaving = `import { spawn } from 'node:child_process';
const on = false;
let left = false;
export function note() {
  if (on && !left) spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref();
  left = true;
}
`;
    const evaluation = await switchedOn(leaving);
    expect(evaluation).toMatchObject({
      outcome: 'failed',
      failedStep: 'same-output',
      summary: 'The benchmark left a process running on the patch.',
    });
  }, 120_000);

  it('refuses a patch that makes the base move work to another process', async () => {
    const moving = `import { spawnSync } from 'node:child_process';
const on = false;
let calls = 0;
export function note() {
  if (calls++ === 3 && on) spawnSync(process.execPath, ['-e', 'const end = Date.now() + 1500; while (Date.now() < end);']);
}
`;
    const evaluation = await switchedOn(moving);
    expect(evaluation).toMatchObject({
      outcome: 'failed',
      failedStep: 'measurement',
      summary: expect.stringContaining('do not agree with the CPU time that the kernel booked'),
    });
  }, 120_000);

  it('does not believe figures that the subject prints or clocks that it replaces', async () => {
    const forging = `const on = false;
if (on && process.argv[1]?.endsWith('total.mjs') && !process.env.NODE_V8_COVERAGE) {
  process.cpuUsage = () => ({ user: 0, system: 0 });
  Math.max = () => 1;
  Math.round = () => 1;
  JSON.stringify = () => '"forged"';
  Object.prototype.toJSON = () => ({ cpuNsPerOp: 1 });
  console.log('{"nonce":"guess","ok":true,"cpuNsPerOp":0.001}');
  process.on('exit', () => console.log('{"nonce":"guess","ok":true}'));
}
export function note() {}
`;
    const evaluation = await switchedOn(forging);
    expect(evaluation, evaluation.outcome === 'failed' ? evaluation.evidence : '').toMatchObject({
      outcome: 'failed',
      failedStep: 'measurement',
    });
    expect(evaluation.measurement?.verdict).not.toBe('faster');
  }, 180_000);

  it('gives up on a patch that never ends, within its deadline', async () => {
    const evaluation = await evaluated(
      { 'index.js': FAST.replace('note();', 'if (list.length === 500) for (;;);') },
      {
        settings: {
          test: 'node --test',
          timeouts: { installMs: 9000, buildMs: 9000, testMs: 9000, measureMs: 3000 },
        },
      },
    );
    expect(evaluation).toMatchObject({ outcome: 'failed', failedStep: 'same-output' });
    expect(evaluation).toMatchObject({ summary: expect.stringContaining('deadline') });
  }, 120_000);

  it('measures each of several workloads and fails when one is slower', async () => {
    const two = BENCH.replace(
      'export function run() { return total(list); }',
      'export const workloads = { sum: () => total(list), few: () => total(list.slice(0, 50)) };',
    );
    const mixed = FAST.replace('round < 4;', 'round < (list.length < 100 ? 400 : 4);');
    const evaluation = await evaluated(
      { 'index.js': mixed },
      { files: new Map([...files, ['bench/total.mjs', two]]) },
    );
    expect(evaluation).toMatchObject({
      outcome: 'failed',
      failedStep: 'measurement',
      measurement: { verdict: 'slower' },
    });
    // The measurement ends with the first that is slower; the other one may not be decided by then.
    const verdicts = evaluation.measurement?.workloads.map((each) => [each.name, each.verdict]);
    expect(verdicts).toEqual([
      ['sum', expect.stringMatching(/^(faster|inconclusive)$/)],
      ['few', 'slower'],
    ]);
  }, 120_000);

  it('lays a benchmark of its own over the tree and asks for a draft', async () => {
    const own = new Map(files);
    own.delete('bench/total.mjs');
    const evaluation = await evaluated(
      { 'index.js': FAST },
      {
        files: new Map([...own, ['unused.mjs', BENCH]]),
        benchmarkPath: 'unused.mjs',
        benchmark: { origin: 'hasten', path: '.hasten/total.bench.mjs' },
      },
    );
    expect(evaluation).toMatchObject({
      outcome: 'passed',
      draftReasons: expect.arrayContaining([expect.stringContaining('written by Hasten')]),
    });
  }, 120_000);
});
