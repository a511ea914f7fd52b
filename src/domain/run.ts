/** The machine's memory of one run: what its events brought, and what reports are written from. */

import type { StoredError } from './errors.js';
import type { EvaluationFailed, EvaluationPassed } from './evaluation.js';
import type { Benchmark, HotFunction, Patch, Plan } from './plan.js';
import type { RepositorySettings } from './settings.js';
import type { PauseReason, RunId, RunOutcome, Trigger } from './trigger.js';

export type MachineState =
  | 'listening'
  | 'planning'
  | 'executing'
  | 'evaluating'
  | 'recovering'
  | 'submitting'
  | 'reporting'
  | 'paused';

export interface Attempt {
  readonly number: number;
  /** sha256 hex of the normalised plan. */
  readonly planHash: string;
  /** Signature of the error, without paths, numbers, addresses, times. */
  readonly errorSignature: string;
  /** Step or station that failed, with one sentence. */
  readonly summary: string;
  /** Bounded evidence for recovering. */
  readonly evidence: string;
  readonly plan: Plan | null;
  readonly diff: string | null;
}

export interface Pause {
  readonly reason: PauseReason;
  /** State it goes back to when approved. */
  readonly from: 'planning' | 'executing' | 'evaluating' | 'recovering' | 'submitting';
  readonly since: number;
  readonly expiresAt: number;
  /** What happened, for the comment. */
  readonly detail: string;
  /** State revision that an approval binds to. */
  readonly rev: number;
}

export interface Submission {
  readonly branch: string;
  readonly commit: string;
  /** Null for local use. */
  readonly pullNumber: number | null;
  readonly url: string | null;
  readonly draft: boolean;
}

/** Context of a run; grows as events come in. Everything is plain JSON. */
export interface RunRecord {
  readonly id: RunId;
  readonly trigger: Trigger;
  readonly startedAt: number;
  /** Issue that carries the status comment, once known. */
  readonly issueNumber: number | null;
  readonly settings: RepositorySettings | null;
  readonly plan: Plan | null;
  readonly benchmark: Benchmark | null;
  /** Hottest functions of the base under the benchmark. */
  readonly profile: readonly HotFunction[];
  readonly patch: Patch | null;
  readonly evaluation: EvaluationPassed | null;
  readonly lastFailure: EvaluationFailed | StoredError | null;
  readonly attempt: number;
  readonly attempts: readonly Attempt[];
  readonly pause: Pause | null;
  /** Attempts before this index no longer count for the loop rule: somebody approved to go on. */
  readonly cycleFrom: number;
  /** Attempts above the settings' that approvals granted. */
  readonly extraAttempts: number;
  /** Dollars above the run's budget that approvals granted. */
  readonly grantedUsd: number;
  /** Hints of approvals, newest last. */
  readonly hints: readonly string[];
  /** Who approved the diff before the push, or null. */
  readonly approvedBy: string | null;
  readonly submission: Submission | null;
  readonly outcome: RunOutcome | null;
  /** One sentence for people on how it ended. */
  readonly outcomeReason: string | null;
}
