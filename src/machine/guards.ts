/** Questions that the statechart asks; each looks at the record of the run and the event only. */
import type { EvaluationPassed } from '../domain/evaluation.js';
import type { TimedEvent } from '../domain/event.js';
import { type Benchmark, heldBackOf } from '../domain/plan.js';
import type { RunRecord } from '../domain/run.js';
import { repeats } from './run-changes.js';

/** The same plan and the same error this many times running pause the run. */
export const CYCLE_LENGTH = 3;

export interface MachineContext {
  /** Null while listening. */
  readonly run: RunRecord | null;
}

interface Question {
  readonly context: MachineContext;
  readonly event: TimedEvent;
}

export function isCycle({ context }: Question): boolean {
  const run = context.run;
  if (run === null || isPeerFailure(run)) return false;
  return repeats(run) >= CYCLE_LENGTH;
}

/** A peer that is down fails alike each time without the model going round in circles. */
function isPeerFailure({ lastFailure }: RunRecord): boolean {
  return lastFailure !== null && 'fault' in lastFailure && lastFailure.fault === 'peer';
}

export function areAttemptsUsedUp({ context }: Question): boolean {
  if (context.run === null) return true;
  const allowed = (context.run.settings?.attempts ?? 1) + context.run.extraAttempts;
  return context.run.attempts.length >= allowed;
}

/** Planning never came to an end, so there is no benchmark to go on with. */
export function isPlanMissing({ context }: Question): boolean {
  return context.run?.benchmark == null;
}

export function isPrepared({ context }: Question): boolean {
  return context.run?.settings != null;
}

/** A person must see the diff before it is pushed: a push runs the repository's own CI with its secrets. */
export function isApprovalNeeded({ context }: Question): boolean {
  const run = context.run;
  if (run === null || run.approvedBy !== null) return false;
  const mode = run.settings?.approval ?? 'before-push';
  return mode === 'before-push' || (mode === 'auto' && run.trigger.outsideText);
}

/** The evaluation is of exactly the patch that this run holds, on the commit that it started from. */
export function isEvaluationOfThisPatch({ context, event }: Question): boolean {
  if (event.type !== 'EVALUATION_PASSED' || context.run?.patch == null) return false;
  const { patch, benchmark, trigger } = context.run;
  const { evaluation } = event;
  return (
    evaluation.tree === patch.tree &&
    evaluation.patchDigest === patch.digest &&
    evaluation.baseCommit === patch.baseCommit &&
    evaluation.baseCommit === trigger.baseCommit &&
    benchmark !== null &&
    evaluation.benchmarkSha256 === benchmark.sha256 &&
    evaluation.measurement.verdict === 'faster' &&
    isHeldBackFaster(benchmark, evaluation)
  );
}

/** What planning held back was measured and is faster too; without one there is no such measurement. */
function isHeldBackFaster(benchmark: Benchmark, { heldBack }: EvaluationPassed): boolean {
  return heldBackOf(benchmark) === null ? heldBack === null : heldBack?.verdict === 'faster';
}

/** Trying again can't help: a setting or an invariant is wrong. */
export function isHopeless({ event }: Question): boolean {
  if (event.type !== 'STATION_FAILED') return false;
  return event.error.fault === 'bug' || (event.error.fault === 'user' && isSettingUp(event.station));
}

function isSettingUp(station: string): boolean {
  return station === 'prepare' || station === 'plan';
}

/** The approval was given for the pause that stands now. */
export function isForThisPause({ context, event }: Question): boolean {
  return event.type === 'APPROVED' && context.run?.pause?.rev === event.pauseRev;
}

export function isPauseDeadline({ event }: Question): boolean {
  return event.type === 'DEADLINE_PASSED' && event.name === 'pause';
}

export function isRunDeadline({ event }: Question): boolean {
  return event.type === 'DEADLINE_PASSED' && event.name === 'run';
}
