/** What a run teaches: the problem, what was tried, what was measured or why it failed; bounded, failures included. */
import type { EvaluationFailed, Measurement } from '../domain/evaluation.js';
import type { Lesson } from '../domain/lesson.js';
import type { Plan } from '../domain/plan.js';
import type { RepositoryRef } from '../domain/repository.js';
import type { RunRecord } from '../domain/run.js';

const MAX_PROBLEM_CHARS = 4000;
const MAX_PLAN_CHARS = 4000;
const MAX_PATCH_CHARS = 32_000;
const MAX_EVIDENCE_CHARS = 6000;
const MAX_ATTEMPTS = 10;

/** The lesson of a run that has ended; `spentUsd` dollars, `at` epoch milliseconds. */
export function lessonOf(run: RunRecord, repository: RepositoryRef, spentUsd: number, at: number): Lesson {
  const last = run.attempts.at(-1);
  const patch = run.patch?.diff ?? last?.diff ?? '';
  return {
    run: run.id,
    repositoryId: repository.id,
    repository: `${repository.owner}/${repository.name}`,
    problem: cut([run.trigger.title, run.trigger.body, ...run.hints].join('\n'), MAX_PROBLEM_CHARS),
    plan: cut(planText(run.plan ?? last?.plan ?? null), MAX_PLAN_CHARS),
    patch: cut(patch, MAX_PATCH_CHARS),
    outcome: run.outcome ?? 'failed',
    evidence: cut(evidenceText(run, spentUsd), MAX_EVIDENCE_CHARS),
    fate: run.submission?.pullNumber == null ? 'none' : 'open',
    at,
  };
}

function planText(plan: Plan | null): string {
  if (plan === null) return '';
  return [
    plan.title,
    `Hypothesis: ${plan.hypothesis}`,
    `Files: ${plan.files.join(', ')}`,
    ...plan.steps.map((step) => `- ${step}`),
    `Risk: ${plan.risk}`,
  ].join('\n');
}

function evidenceText(run: RunRecord, spentUsd: number): string {
  const lines: string[] = [];
  if (run.evaluation !== null) {
    lines.push('Passed every check.', measurementText('Measured', run.evaluation.measurement));
    const { confirmation } = run.evaluation;
    if (confirmation !== null) lines.push(measurementText('Confirmed', confirmation));
  }
  const failure = run.lastFailure;
  if (run.evaluation === null && failure !== null && 'measurement' in failure)
    lines.push(failedText(failure));
  if (run.outcomeReason !== null) lines.push(run.outcomeReason);
  for (const attempt of run.attempts.slice(-MAX_ATTEMPTS)) {
    lines.push(`Attempt ${attempt.number} failed: ${attempt.summary}`);
  }
  lines.push(`Base commit ${run.trigger.baseCommit}, model cost $${spentUsd.toFixed(4)}.`);
  return lines.join('\n');
}

function failedText(failure: EvaluationFailed): string {
  const measured =
    failure.measurement === null ? '' : `\n${measurementText('Measured', failure.measurement)}`;
  return `Failed at ${failure.failedStep}: ${failure.summary}${measured}`;
}

function measurementText(word: string, measurement: Measurement): string {
  const parts = measurement.workloads.map((workload) => {
    const interval =
      workload.interval === null
        ? 'no interval'
        : `${workload.interval[0].toPrecision(3)} to ${workload.interval[1].toPrecision(3)}`;
    return `${workload.name} ${workload.speedup.toPrecision(3)}x (${interval}, ${workload.pairs} pairs, ${workload.verdict})`;
  });
  return `${word} in CPU time: ${measurement.verdict}; ${parts.join('; ')}.`;
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/u, '')}…`;
}
