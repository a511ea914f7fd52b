/** How a run ended, as the last form of its status comment and as a report of its own for local use. */
import type { EvaluationFailed, EvaluationPassed } from '../domain/evaluation.js';
import type { RunRecord } from '../domain/run.js';
import type { RunOutcome } from '../domain/trigger.js';
import { claimSentence, measurementNotes, measurementTable, stepTable } from './evidence.js';
import { dollars, duration } from './figures.js';
import { code, fenced, inline, message } from './hostile-text.js';
import { assemble, statusKey } from './marker.js';
import { failuresText } from './status-text.js';

export interface ReportFacts {
  readonly run: RunRecord;
  readonly spentUsd: number;
  /** Epoch milliseconds of the end. */
  readonly at: number;
}

const HEADLINES: Readonly<Record<RunOutcome, string>> = {
  'pull-request': 'Hasten opened a pull request',
  'nothing-to-gain': 'Hasten found nothing to gain',
  failed: 'Hasten did not manage it',
  rejected: 'Hasten stopped: the question was rejected',
  expired: 'Hasten stopped: nobody answered in time',
  cancelled: 'Hasten was cancelled',
};

/** The last form of the status comment, marker included. */
export function reportText(facts: ReportFacts): string {
  const { run } = facts;
  return assemble([...sections(facts), nextStep(run), costLine(facts)], statusKey(run.id));
}

/** The report of a local run on stdout: the same, with the diff. */
export function renderReport(facts: ReportFacts): string {
  const { run } = facts;
  const { patch } = run;
  const parts = [
    `# ${inline(run.trigger.title, 200)}`,
    ...sections(facts),
    run.evaluation === null ? null : stepTable(run.evaluation),
    run.evaluation === null
      ? null
      : `To see the same:\n\n${fenced(run.evaluation.reproduce.join('\n'), 'sh', 4000)}`,
    patch === null ? null : `## Diff\n\n${fenced(patch.diff, 'diff', 200_000)}`,
    costLine(facts),
  ];
  return `${parts.filter((part) => part !== null && part !== '').join('\n\n')}\n`;
}

/** Local use leaves a branch only. */
function headline(run: RunRecord, outcome: RunOutcome): string {
  const isBranchOnly = run.submission !== null && run.submission.pullNumber === null;
  return isBranchOnly ? 'Hasten left a branch' : HEADLINES[outcome];
}

function sections({ run }: ReportFacts): readonly (string | null)[] {
  const outcome = run.outcome ?? 'failed';
  const reason = run.outcomeReason ?? '';
  return [
    `**${headline(run, outcome)}** (run ${code(run.id)})`,
    where(run),
    reason === '' || outcome === 'pull-request' ? null : message(reason, 2500),
    measured(run),
    outcome === 'pull-request' ? null : failuresText(run.attempts),
  ];
}

function where({ submission }: RunRecord): string | null {
  if (submission === null) return null;
  const draft = submission.draft ? ' (a draft, its first lines say why)' : '';
  return submission.pullNumber === null
    ? `Branch ${code(submission.branch)}, commit ${code(submission.commit)}.`
    : `The patch was built, tested and measured: #${submission.pullNumber}${draft}.`;
}

/** The verdict with its table when it came as far as measuring. */
function measured(run: RunRecord): string | null {
  if (run.evaluation !== null) return passedText(run.evaluation);
  const failure = run.lastFailure;
  if (failure === null || !('measurement' in failure)) return null;
  return failedText(failure);
}

function passedText(evaluation: EvaluationPassed): string {
  return [
    claimSentence(evaluation.measurement, evaluation.confirmation),
    measurementTable(evaluation.measurement),
    measurementNotes(evaluation.measurement),
  ].join('\n\n');
}

function failedText(failure: EvaluationFailed): string | null {
  if (failure.measurement === null) return null;
  return [
    `The last patch was measured: **${failure.measurement.verdict}**. ${inline(failure.measurement.reason, 500)}`,
    measurementTable(failure.measurement),
    measurementNotes(failure.measurement),
  ].join('\n\n');
}

function nextStep(run: RunRecord): string | null {
  const again = `${code('/hasten run <hint>')} starts again`;
  switch (run.outcome) {
    case 'pull-request':
      return 'Review it as any other; a closed pull request is not offered again.';
    case 'nothing-to-gain':
      return `If there is a workload that shows the problem, add it as a benchmark in ${code('.github/hasten.yml')}; ${again}.`;
    case 'failed':
      return isSettingsProblem(run)
        ? `Once that is put right on the default branch, ${again}.`
        : `No pull request was opened. ${again}, with a hint where you know more.`;
    case 'expired':
    case 'rejected':
    case 'cancelled':
      return `No pull request was opened. ${again}.`;
    default:
      return null;
  }
}

function isSettingsProblem(run: RunRecord): boolean {
  return run.lastFailure !== null && 'fault' in run.lastFailure && run.lastFailure.fault === 'user';
}

function costLine({ run, spentUsd, at }: ReportFacts): string {
  const attempts = run.attempts.length + (run.evaluation === null ? 0 : 1);
  return `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}, ${duration((at - run.startedAt) / 1000)}, ${dollars(spentUsd)} for the model.`;
}
