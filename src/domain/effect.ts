/** Effects (intended side effects) and stations (the code that performs one kind and answers with a machine event). */
import type { MachineEvent } from './event.js';
import type { RepositoryRef } from './repository.js';
import type { MachineState, RunRecord } from './run.js';

/** Work that moves the machine; one at a time per repository. */
export type WorkKind = 'prepare' | 'plan' | 'execute' | 'evaluate' | 'recover' | 'submit';
/** Words to people and the ledger; in order per repository, beside the work. */
export type TellKind =
  | 'acknowledge'
  | 'update-status'
  | 'ask-approval'
  | 'report'
  | 'remember'
  | 'reply'
  | 'make-ready'
  | 'record-fate'
  | 'discard';
export type EffectKind = WorkKind | TellKind;

/** `reply`: one comment, found again by its key. `reaction` is put on the comment that asked. */
export interface ReplyPayload {
  readonly issueNumber: number;
  /** Null: only react. */
  readonly text: string | null;
  readonly reaction: {
    readonly commentId: number;
    readonly content: '+1' | '-1' | 'confused' | 'eyes';
  } | null;
}
export interface MakeReadyPayload {
  readonly pullNumber: number;
  readonly approvedBy: string;
}
export interface RecordFatePayload {
  readonly run: string;
  readonly fate: 'merged' | 'closed';
}
/** Effects of a run carry the run as it stood when they were intended. */
export interface RunPayload {
  readonly run: RunRecord;
  readonly state: MachineState;
}

export interface EffectPayloads {
  readonly prepare: RunPayload;
  readonly plan: RunPayload;
  readonly execute: RunPayload;
  readonly evaluate: RunPayload;
  readonly recover: RunPayload;
  readonly submit: RunPayload;
  readonly acknowledge: RunPayload;
  readonly 'update-status': RunPayload;
  readonly 'ask-approval': RunPayload;
  readonly report: RunPayload;
  readonly remember: RunPayload;
  /** Removes the run's containers and volumes. */
  readonly discard: RunPayload;
  readonly reply: ReplyPayload;
  readonly 'make-ready': MakeReadyPayload;
  readonly 'record-fate': RecordFatePayload;
}

/** What a station gets. */
export interface Effect<K extends EffectKind = EffectKind> {
  /** Deterministic idempotency key; also the hidden marker's text. */
  readonly key: string;
  readonly kind: K;
  readonly repository: RepositoryRef;
  readonly payload: EffectPayloads[K];
  /** Epoch milliseconds when the effect was intended. */
  readonly createdAt: number;
  /** From 1; above 1 means an earlier try may have had its effect already: find before create. */
  readonly attempt: number;
}

export interface StationContext {
  /** Aborts when the lease is lost, the run is cancelled or the service stops. */
  readonly signal: AbortSignal;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** What it is doing, one short line, for the log and the demo. */
  readonly progress: (line: string) => void;
}

/**
 * Performs one kind of effect. Returns the event that moves the machine, or null for effects that nobody waits for.
 * Must be safe to call again with the same key (a crash may have eaten the answer). Throws the error tree of `errors.ts`;
 * the engine retries retryable ones, pauses on BudgetError and turns the rest into STATION_FAILED.
 */
export type Station<K extends EffectKind> = (
  effect: Effect<K>,
  context: StationContext,
) => Promise<MachineEvent | null>;

export type Stations = { readonly [K in EffectKind]: Station<K> };
