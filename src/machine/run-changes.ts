/** What each event does to the record of a run: pure functions that the statechart assigns. */

import type { StoredError } from '../domain/errors.js';
import type { EvaluationFailed } from '../domain/evaluation.js';
import type { TimedEvent } from '../domain/event.js';
import type { Attempt, Pause, RunRecord } from '../domain/run.js';
import type { PauseReason, RunOutcome } from '../domain/trigger.js';
import { errorSignature, planHash } from './fingerprint.js';

/** A pause ends by itself after this long. */
export const PAUSE_MS = 7 * 24 * 60 * 60 * 1000;
/** Characters of evidence kept per attempt; the snapshot is rewritten at every event. */
const EVIDENCE_CHARACTERS = 12_000;

type Of<T extends TimedEvent['type']> = Extract<TimedEvent, { type: T }>;

export function startRun(event: Of<'RUN_REQUESTED'>): RunRecord {
  return {
    id: event.run,
    trigger: event.trigger,
    startedAt: event.at,
    issueNumber: event.trigger.issueNumber,
    settings: null,
    plan: null,
    benchmark: null,
    profile: [],
    patch: null,
    evaluation: null,
    lastFailure: null,
    attempt: 1,
    attempts: [],
    pause: null,
    cycleFrom: 0,
    extraAttempts: 0,
    grantedUsd: 0,
    hints: event.trigger.hint === null ? [] : [event.trigger.hint],
    approvedBy: null,
    submission: null,
    outcome: null,
    outcomeReason: null,
  };
}

/** Adds a failed attempt by the evaluation. */
export function failEvaluation(run: RunRecord, failure: EvaluationFailed): RunRecord {
  return failAttempt(
    run,
    failure.failedStep,
    failure.summary,
    failure.evidence,
    run.patch?.diff ?? null,
    failure,
  );
}

/** Adds a failed attempt by a station's error. */
export function failStation(run: RunRecord, event: Of<'STATION_FAILED'>): RunRecord {
  const diff = event.diff ?? run.patch?.diff ?? null;
  return failAttempt(run, event.station, event.error.message, event.error.message, diff, event.error);
}

function failAttempt(
  run: RunRecord,
  step: string,
  summary: string,
  evidence: string,
  diff: string | null,
  lastFailure: EvaluationFailed | StoredError,
): RunRecord {
  const attempt: Attempt = {
    number: run.attempt,
    planHash: planHash(run.plan),
    errorSignature: errorSignature(step, summary),
    summary: `${step}: ${summary}`.slice(0, 1000),
    evidence: evidence.slice(0, EVIDENCE_CHARACTERS),
    plan: run.plan,
    diff,
  };
  return {
    ...run,
    attempts: [...run.attempts, attempt],
    attempt: run.attempt + 1,
    patch: null,
    evaluation: null,
    lastFailure,
  };
}

/** Opens a pause that approvals bind to by `event.rev`. */
export function openPause(
  run: RunRecord,
  event: TimedEvent,
  reason: PauseReason,
  detail: string,
  from: Pause['from'],
): RunRecord {
  return {
    ...run,
    pause: { reason, from, since: event.at, expiresAt: event.at + PAUSE_MS, detail, rev: event.rev },
  };
}

/** Closes the pause as approved: a cycle gets one more attempt, a budget another run budget (the ceilings stay). */
export function approve(run: RunRecord, event: Of<'APPROVED'>): RunRecord {
  const reason = run.pause?.reason;
  return {
    ...run,
    pause: null,
    hints: event.hint === null ? run.hints : [...run.hints, event.hint],
    cycleFrom: reason === 'cycle' ? run.attempts.length : run.cycleFrom,
    extraAttempts: reason === 'cycle' ? run.extraAttempts + 1 : run.extraAttempts,
    grantedUsd: reason === 'budget' ? run.grantedUsd + (run.settings?.budgetUsd ?? 0) : run.grantedUsd,
    approvedBy: reason === 'approval' ? event.by : run.approvedBy,
  };
}

export function endRun(run: RunRecord, outcome: RunOutcome, reason: string): RunRecord {
  return { ...run, pause: null, outcome, outcomeReason: reason.slice(0, 2000) };
}

/** Why a run ends without further attempts: the last failure in one sentence. */
export function usedUpReason(run: RunRecord): string {
  const count = run.attempts.length === 1 ? 'The only attempt' : `All ${run.attempts.length} attempts`;
  return `${count} failed. Last: ${run.attempts.at(-1)?.summary ?? 'unknown'}`;
}

/** How many of the newest attempts have equal plan and error, counted since the last approval to go on. */
export function repeats(run: RunRecord): number {
  const last = run.attempts.at(-1);
  if (last === undefined) return 0;
  let count = 0;
  for (let index = run.attempts.length - 1; index >= run.cycleFrom; index--) {
    const attempt = run.attempts[index];
    if (attempt?.planHash !== last.planHash || attempt.errorSignature !== last.errorSignature) break;
    count++;
  }
  return count;
}
