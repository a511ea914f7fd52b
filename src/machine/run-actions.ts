/** The statechart's named assignments: which event writes what into the record of the run. */
import type { TimedEvent } from '../domain/event.js';
import type { Pause, RunRecord } from '../domain/run.js';
import type { RunOutcome } from '../domain/trigger.js';
import { CYCLE_LENGTH, type MachineContext } from './guards.js';
import * as change from './run-changes.js';

export interface Step {
  readonly context: MachineContext;
  readonly event: TimedEvent;
}

/** Context after the event; without a run nothing happens. */
type Assignment<P = undefined> = (step: Step, params: P) => { run: RunRecord | null };

function onRun(step: Step, apply: (run: RunRecord) => RunRecord): { run: RunRecord | null } {
  return { run: step.context.run === null ? null : apply(step.context.run) };
}

export const begin: Assignment = ({ event }) => ({
  run: event.type === 'RUN_REQUESTED' ? change.startRun(event) : null,
});

export const forget: Assignment = () => ({ run: null });

/** Keeps what a station brought. */
export const keep: Assignment = (step) => onRun(step, (run) => kept(run, step.event));

function kept(run: RunRecord, event: TimedEvent): RunRecord {
  switch (event.type) {
    case 'ACKNOWLEDGED':
      return { ...run, issueNumber: event.issueNumber ?? run.issueNumber };
    case 'PREPARED':
      return { ...run, settings: event.settings };
    case 'PLAN_READY':
      return { ...run, plan: event.plan, benchmark: event.benchmark, profile: event.profile };
    case 'PLAN_UPDATED':
      return { ...run, plan: event.plan };
    case 'PATCH_READY':
      return { ...run, patch: event.patch };
    case 'EVALUATION_PASSED':
      return { ...run, evaluation: event.evaluation };
    case 'PULL_REQUEST_OPENED':
      return { ...run, submission: event.submission };
    default:
      return run;
  }
}

export const countFailure: Assignment = (step) =>
  onRun(step, (run) => {
    if (step.event.type === 'EVALUATION_FAILED') return change.failEvaluation(run, step.event.failure);
    if (step.event.type === 'STATION_FAILED') return change.failStation(run, step.event);
    return run;
  });

/** Ends a run that has no attempt left, whatever event brought the last failure. */
export const giveUp: Assignment = (step) =>
  onRun(step, (run) => change.endRun(run, 'failed', change.usedUpReason(run)));

export const openPause: Assignment<{ readonly from: Pause['from'] }> = (step, { from }) =>
  onRun(step, (run) => change.openPause(run, step.event, ...pauseWords(run, step.event), from));

function pauseWords(run: RunRecord, event: TimedEvent): [Pause['reason'], string] {
  if (event.type === 'BUDGET_EXHAUSTED') {
    const limit = `$${event.limitUsd.toFixed(2)} per ${event.limit}`;
    return [
      'budget',
      `The next model call does not fit into the limit of ${limit}; $${event.usedUsd.toFixed(2)} are used.`,
    ];
  }
  if (event.type === 'EVALUATION_PASSED') {
    return ['approval', 'The patch passed its evaluation and waits for a person before it is pushed.'];
  }
  const last = run.attempts.at(-1)?.summary ?? 'unknown';
  return ['cycle', `The same plan ended in the same error ${CYCLE_LENGTH} times running: ${last}`];
}

export const approve: Assignment = (step) =>
  onRun(step, (run) => (step.event.type === 'APPROVED' ? change.approve(run, step.event) : run));

export const end: Assignment<{ readonly outcome: RunOutcome }> = (step, { outcome }) =>
  onRun(step, (run) => change.endRun(run, outcome, endReason(run, step.event)));

function endReason(run: RunRecord, event: TimedEvent): string {
  switch (event.type) {
    case 'NOTHING_TO_GAIN':
      return event.reason;
    case 'NO_FURTHER_IDEA':
      return `${run.attempts.at(-1)?.summary ?? 'No attempt was made'} (No further idea: ${event.reason})`;
    case 'CANCELLED':
      return `Cancelled by ${event.by}.`;
    case 'REJECTED':
      return event.reason === null ? `Rejected by ${event.by}.` : `Rejected by ${event.by}: ${event.reason}`;
    case 'PULL_REQUEST_OPENED':
      return 'The patch passed its evaluation.';
    case 'EVALUATION_PASSED':
      return 'The evaluation does not belong to this patch and commit; nothing was pushed.';
    case 'DEADLINE_PASSED':
      return event.name === 'pause'
        ? 'Nobody answered the question in time.'
        : 'The run took longer than its deadline.';
    case 'STATION_FAILED':
      return event.error.message;
    default:
      return change.usedUpReason(run);
  }
}
