/** The last look before anything is pushed: the evaluation is of exactly this patch, on this commit, with this benchmark. */
import { createHash } from 'node:crypto';
import { BugError } from '../domain/errors.js';
import { heldBackOf } from '../domain/plan.js';
import type { RunRecord } from '../domain/run.js';
import type { PassedRun } from './pull-request-text.js';

/** A run as a passed one. Throws BugError `EVALUATION_MISMATCH` naming what does not fit. */
export function requirePassed(run: RunRecord, spentUsd: number): PassedRun {
  const { settings, plan, benchmark, patch, evaluation } = run;
  if (settings === null || benchmark === null || patch === null || evaluation === null) {
    throw mismatch('the run has no settings, benchmark, patch or evaluation');
  }
  const { measurement, confirmation, heldBack } = evaluation;
  const frozen = heldBackOf(benchmark);
  const facts: readonly (readonly [string, boolean])[] = [
    ['the evaluation did not pass', evaluation.outcome === 'passed'],
    ['the evaluated tree is another', evaluation.tree === patch.tree],
    ['the evaluated patch is another', evaluation.patchDigest === patch.digest],
    ["the patch's digest is not that of its text", sha256(patch.diff) === patch.digest],
    ['the evaluated base commit is another', evaluation.baseCommit === patch.baseCommit],
    ['the base commit is not the one of the request', evaluation.baseCommit === run.trigger.baseCommit],
    ['the benchmark is another', evaluation.benchmarkSha256 === benchmark.sha256],
    ["the benchmark's digest is not that of its text", sha256(benchmark.source) === benchmark.sha256],
    ['a check failed', evaluation.steps.length > 0 && evaluation.steps.every((step) => step.ok)],
    ['the verdict is not faster', measurement.verdict === 'faster'],
    ['the confirmation is not faster', confirmation === null || confirmation.verdict === 'faster'],
    [
      "the held-back workload's digest is not that of its text",
      frozen === null || sha256(frozen.source) === frozen.sha256,
    ],
    [
      'the held-back workload is not faster',
      frozen === null ? heldBack === null : heldBack?.verdict === 'faster',
    ],
  ];
  const wrong = facts.find(([, holds]) => !holds);
  if (wrong !== undefined) throw mismatch(wrong[0]);
  return { run, settings, plan, benchmark, patch, evaluation, spentUsd };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function mismatch(what: string): BugError {
  return new BugError({
    code: 'EVALUATION_MISMATCH',
    message: `Refused to push a patch: ${what}. Only a passed evaluation of exactly this patch on this commit opens a pull request.`,
  });
}
