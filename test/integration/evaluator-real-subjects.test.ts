import { createHash } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { createEvaluationRig, type Subject } from '../support/evaluation-rig.js';
import { loadCase, materialise } from '../support/npm-case.js';

const rig = createEvaluationRig();
afterAll(() => rig.close());

function heldBackOf(source: string | null) {
  if (source === null) throw new Error('The case has no held-back workload.');
  const sha256 = createHash('sha256').update(source).digest('hex');
  return { path: '.hasten/held-back.mjs', source, sha256 };
}

async function subjectOf(id: string, settings: Subject['settings'] = {}) {
  const made = await materialise(await loadCase(id));
  const subject: Subject = {
    files: made.files,
    benchmarkPath: made.benchmarkPath,
    entry: made.entry,
    benchmark: { heldBack: heldBackOf(made.heldBack) },
    settings: { test: 'node --test test/behaviour.test.mjs', allow: [...made.fixFiles.keys()], ...settings },
  };
  return { subject: rig.commit(subject), fixFiles: made.fixFiles };
}

describe('published changes of real packages', () => {
  it('pass when they are faster, with an interval and a confirmation', async () => {
    const { subject, fixFiles } = await subjectOf('semver-773');
    const patch = subject.patchOf(fixFiles);
    const evaluation = await rig.evaluate(subject, patch);
    expect(evaluation).toMatchObject({
      outcome: 'passed',
      tree: patch.tree,
      patchDigest: patch.digest,
      baseCommit: subject.baseCommit,
      benchmarkSha256: subject.benchmark.sha256,
      measurement: { verdict: 'faster' },
      confirmation: { verdict: 'faster' },
      draftReasons: [],
    });
    expect(evaluation.steps.map((step) => [step.step, step.ok])).toEqual([
      ['policy', true],
      ['build', true],
      ['checks', true],
      ['tests', true],
      ['changed-lines', true],
      ['same-output', true],
      ['measurement', true],
      ['held-back', true],
    ]);
    const [workload] = evaluation.measurement?.workloads ?? [];
    expect(workload?.interval?.[0]).toBeGreaterThan(1.5);
    expect(workload?.speedup).toBeGreaterThan(2);
    expect(workload?.speedup).toBeLessThan(12);
  }, 180_000);

  it('fail when they change nothing measurable', async () => {
    // Half a minute is enough for a quiet machine; a busy one gives up undecided, which is no pass either.
    const timeouts = { installMs: 60_000, buildMs: 60_000, testMs: 60_000, measureMs: 30_000 };
    const { subject, fixFiles } = await subjectOf('kdbush-402', { timeouts });
    const evaluation = await rig.evaluate(subject, subject.patchOf(fixFiles));
    expect(evaluation).toMatchObject({ outcome: 'failed', failedStep: 'measurement' });
    expect(evaluation.measurement?.verdict).toMatch(/^(no-change|inconclusive)$/);
  }, 300_000);
});
