/** Money: reserved before each model call against every limit that applies, settled with what the provider reports. */

export interface MoneyLimits {
  readonly runUsd: number;
  readonly repositoryHourUsd: number;
  readonly installationDayUsd: number;
  readonly serviceDayUsd: number;
}

export interface ReservationRequest {
  /** `<conversation key>:<turn>:<attempt>`; the same key is the same reservation. */
  readonly key: string;
  readonly run: string;
  readonly repositoryId: string;
  readonly installationId: number | null;
  /** Worst case in US dollars. */
  readonly usd: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Narrower limit of the run (repository settings, approvals), else the service's. */
  readonly runLimitUsd: number;
}

export interface Money {
  /** Books the worst case, or throws BudgetError naming the limit that has no room; nothing is booked then. */
  reserve(request: ReservationRequest): Promise<void>;
  /** Replaces the reservation by what the provider reported. */
  settle(key: string, usd: number): Promise<void>;
  /** The call certainly never reached the provider. */
  release(key: string): Promise<void>;
  /** Dollars booked to a run: settled plus still reserved. */
  spentByRun(run: string): Promise<number>;
}

/** One answered model turn, kept so that a restart goes on from the last answer. */
export interface JournaledTurn {
  /** Names the conversation: run, kind of effect, attempt; it outlives a pause, which intends a new effect. */
  readonly effectKey: string;
  /** From 0, in order. */
  readonly turn: number;
  readonly requestHash: string;
  /** JSON text of the provider's message. */
  readonly response: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly usd: number;
}

export interface ModelJournal {
  /** Answered turns of one effect, in order. */
  turns(effectKey: string): Promise<readonly JournaledTurn[]>;
  /** How many calls were started for this turn, answered or not. */
  startedAttempts(effectKey: string, turn: number): Promise<number>;
  /** Before the call: the intent. Throws LeaseLost when the effect is no longer ours. */
  start(effectKey: string, turn: number, attempt: number, requestHash: string, at: number): Promise<void>;
  /** The provider certainly did not charge for this call: it no longer counts as started. */
  withdraw(effectKey: string, turn: number, attempt: number): Promise<void>;
  /** After the call: the paid answer, stored before anything else can fail. */
  finish(turn: JournaledTurn, attempt: number, at: number): Promise<void>;
  /** Keeps the last patch of an effect's workspace, so that a restart rebuilds it. */
  saveDraft(effectKey: string, turn: number, diff: string): Promise<void>;
  lastDraft(effectKey: string): Promise<{ readonly turn: number; readonly diff: string } | null>;
}
