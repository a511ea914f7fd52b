/** What the planner's stations are given, and the bounds of a conversation. */
import type { BenchmarkTrial, HeldBackTrial } from '../domain/evaluation.js';
import type { Ledger } from '../domain/lesson.js';
import type { ModelJournal, Money } from '../domain/money.js';
import type { SourceMirror } from '../domain/repository.js';
import type { Sandbox } from '../domain/sandbox.js';
import type { ChatModel } from './openai-planner.js';

export interface PlannerLimits {
  /** Answers of the model per station call. */
  readonly maxTurns: number;
  /** Input tokens that the messages of one call may have. */
  readonly contextTokens: number;
  /** Bytes of one tool result in the conversation. */
  readonly toolResultBytes: number;
  /** Milliseconds of one command of the model. */
  readonly commandTimeoutMs: number;
  /** How often a finished patch whose build fails goes back to the model. */
  readonly buildRepairs: number;
  /** Lessons shown before planning. */
  readonly lessons: number;
}

export const DEFAULT_LIMITS: PlannerLimits = {
  maxTurns: 60,
  contextTokens: 60_000,
  toolResultBytes: 16 * 1024,
  commandTimeoutMs: 120_000,
  buildRepairs: 2,
  lessons: 3,
};

export interface PlannerDeps {
  readonly sandbox: Sandbox;
  readonly mirror: SourceMirror;
  readonly ledger: Ledger;
  readonly money: Money;
  readonly journal: ModelJournal;
  readonly model: ChatModel;
  /** Tries a benchmark on the base commit: does it load, run, and give the same checksum twice. */
  readonly benchmarkTrial: BenchmarkTrial;
  /** Tries a held-back workload on the base commit, beside its benchmark. */
  readonly heldBackTrial: HeldBackTrial;
  readonly limits: PlannerLimits;
}
