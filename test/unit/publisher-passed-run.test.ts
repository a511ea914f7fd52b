import { describe, expect, it } from 'vitest';
import { BugError } from '../../src/domain/errors.js';
import type { Measurement } from '../../src/domain/evaluation.js';
import type { RunRecord } from '../../src/domain/run.js';
import { branchOf } from '../../src/publisher/hasten-branch.js';
import { requirePassed } from '../../src/publisher/passed-run.js';
import { sampleMeasurement, samplePassedRun, sha256 } from '../support/passed-run-sample.js';

function evaluated(change: Partial<NonNullable<RunRecord['evaluation']>>): RunRecord {
  const run = samplePassedRun();
  if (run.evaluation === null) throw new Error('the sample has an evaluation');
  return { ...run, evaluation: { ...run.evaluation, ...change } };
}

function patched(change: Partial<NonNullable<RunRecord['patch']>>): RunRecord {
  const run = samplePassedRun();
  if (run.patch === null) throw new Error('the sample has a patch');
  return { ...run, patch: { ...run.patch, ...change } };
}

/** A run whose planning held a workload back, with what was measured on it. */
function heldBack(measured: Measurement | null, sha = sha256('source')): RunRecord {
  const run = evaluated({ heldBack: measured });
  if (run.benchmark?.kind !== 'module') throw new Error('the sample has a module');
  const frozen = { path: '.hasten/held-back.mjs', source: 'source', sha256: sha };
  return { ...run, benchmark: { ...run.benchmark, heldBack: frozen } };
}

describe('the last look before a push', () => {
  it('lets a passed run through', () => {
    expect(requirePassed(samplePassedRun(), 0.5).spentUsd).toBe(0.5);
  });

  it.each([
    ['no evaluation', samplePassedRun({ evaluation: null })],
    ['no patch', samplePassedRun({ patch: null })],
    ['another tree', evaluated({ tree: '1'.repeat(40) })],
    ['another patch', evaluated({ patchDigest: '1'.repeat(64) })],
    ['another base commit', evaluated({ baseCommit: '1'.repeat(40) })],
    ['another benchmark', evaluated({ benchmarkSha256: '1'.repeat(64) })],
    ['a changed diff', patched({ diff: 'diff --git a/index.js b/index.js\n+evil' })],
    ['no checks', evaluated({ steps: [] })],
    ['a failed check', evaluated({ steps: [{ step: 'tests', ok: false, seconds: 1, summary: '' }] })],
    ['a verdict that is not faster', evaluated({ measurement: sampleMeasurement({ verdict: 'no-change' }) })],
    [
      'a confirmation that is not',
      evaluated({ confirmation: sampleMeasurement({ verdict: 'inconclusive' }) }),
    ],
    ['a held-back workload that was not measured', heldBack(null)],
    ['one that is not faster', heldBack(sampleMeasurement({ verdict: 'no-change' }))],
    ['one that was changed', heldBack(sampleMeasurement(), '1'.repeat(64))],
    ['a measurement of one that nobody froze', evaluated({ heldBack: sampleMeasurement() })],
  ])('refuses %s', (_, run) => {
    expect(() => requirePassed(run, 0)).toThrow(BugError);
  });

  it('accepts a held-back workload that is faster', () => {
    expect(() => requirePassed(heldBack(sampleMeasurement()), 0)).not.toThrow();
  });

  it('accepts a run whose confirmation the settings switched off', () => {
    expect(() => requirePassed(evaluated({ confirmation: null }), 0)).not.toThrow();
  });
});

describe('refs', () => {
  it('stay inside hasten/', () => {
    expect(branchOf('abc123def456')).toBe('hasten/abc123def456');
    for (const run of ['', '../main', 'a/../../main', 'A', 'a b', 'a\n', '-x', 'x'.repeat(65), 'a.lock']) {
      expect(() => branchOf(run)).toThrow(BugError);
    }
  });
});
