/** One paid turn of a conversation: replayed from the journal, or reserved, called, stored and settled, in this order. */
import { createHash } from 'node:crypto';
import { PeerError } from '../domain/errors.js';
import type { JournaledTurn, ModelJournal, Money } from '../domain/money.js';
import type { RepositoryRef } from '../domain/repository.js';
import { type ChatRequest, readUsage, type TokenUsage } from './chat-messages.js';
import type { CallOutcome, ChatModel } from './openai-planner.js';
import { countRequest } from './token-count.js';

/** Calls of one turn that may be charged, over all restarts. */
const MAX_ATTEMPTS = 2;

export interface TurnPayer {
  readonly effectKey: string;
  readonly run: string;
  readonly repository: RepositoryRef;
  /** US dollars that the run may spend, approvals included. */
  readonly runLimitUsd: number;
}

export interface TurnDeps {
  readonly model: ChatModel;
  readonly money: Money;
  readonly journal: ModelJournal;
}

export interface TurnContext {
  readonly signal: AbortSignal;
  readonly now: () => number;
}

export interface TurnAnswer {
  /** Body of the completion as it came. */
  readonly body: string;
  /** True when it came from the journal, without a call. */
  readonly replayed: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly usd: number;
}

/** The turns of one effect's conversation. */
export interface ModelTurns {
  /** Turns answered before a restart. */
  readonly answered: number;
  /**
   * The answer of turn `turn` (from 0). Throws BudgetError when a limit has no room (nothing was sent then), PeerError
   * when the endpoint failed after its retries, UserError when key, quota or model name are wrong.
   */
  ask(turn: number, request: ChatRequest): Promise<TurnAnswer>;
}

/** Opens the conversation's journal. */
export async function openModelTurns(
  deps: TurnDeps,
  payer: TurnPayer,
  context: TurnContext,
): Promise<ModelTurns> {
  const journaled = await deps.journal.turns(payer.effectKey);
  const last = journaled.at(-1);
  if (last !== undefined) await settleAgain(deps, payer, last);
  return {
    answered: journaled.length,
    async ask(turn, request) {
      const known = journaled.find((one) => one.turn === turn);
      if (known !== undefined) return { ...pick(known), body: known.response, replayed: true };
      return callAndStore(deps, payer, context, turn, request);
    },
  };
}

function pick(turn: JournaledTurn): Omit<TurnAnswer, 'body' | 'replayed'> {
  return { promptTokens: turn.promptTokens, completionTokens: turn.completionTokens, usd: turn.usd };
}

/** A crash may have fallen between storing the answer and settling its money. */
async function settleAgain(deps: TurnDeps, payer: TurnPayer, last: JournaledTurn): Promise<void> {
  const attempt = await deps.journal.startedAttempts(payer.effectKey, last.turn);
  await deps.money.settle(reservationKey(payer, last.turn, attempt), last.usd);
}

function reservationKey(payer: TurnPayer, turn: number, attempt: number): string {
  return `${payer.effectKey}:${turn}:${attempt}`;
}

async function callAndStore(
  deps: TurnDeps,
  payer: TurnPayer,
  context: TurnContext,
  turn: number,
  request: ChatRequest,
): Promise<TurnAnswer> {
  const worst: TokenUsage = {
    promptTokens: countRequest(request),
    cachedTokens: 0,
    completionTokens: deps.model.maxOutputTokens,
  };
  const started = await deps.journal.startedAttempts(payer.effectKey, turn);
  let failure = attemptsUsedUp();
  for (let attempt = started + 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    context.signal.throwIfAborted();
    const outcome = await reservedCall(deps, payer, context, { turn, attempt, request, worst });
    const key = reservationKey(payer, turn, attempt);
    if (outcome.kind === 'answered')
      return store(deps, payer, context, { turn, attempt, request, worst, body: outcome.body });
    if (outcome.kind === 'not-charged') {
      // The start goes first: a booking too many is safe, a call too many is not.
      await deps.journal.withdraw(payer.effectKey, turn, attempt);
      await deps.money.release(key);
      throw outcome.error;
    }
    failure = outcome.error;
  }
  context.signal.throwIfAborted();
  throw failure;
}

interface Call {
  readonly turn: number;
  readonly attempt: number;
  readonly request: ChatRequest;
  readonly worst: TokenUsage;
}

async function reservedCall(
  deps: TurnDeps,
  payer: TurnPayer,
  context: TurnContext,
  call: Call,
): Promise<CallOutcome> {
  await deps.money.reserve({
    key: reservationKey(payer, call.turn, call.attempt),
    run: payer.run,
    repositoryId: payer.repository.id,
    installationId: payer.repository.installationId,
    usd: deps.model.costUsd(call.worst),
    at: context.now(),
    runLimitUsd: payer.runLimitUsd,
  });
  await deps.journal.start(
    payer.effectKey,
    call.turn,
    call.attempt,
    requestHash(call.request),
    context.now(),
  );
  return deps.model.call(call.request, context.signal);
}

async function store(
  deps: TurnDeps,
  payer: TurnPayer,
  context: TurnContext,
  call: Call & { readonly body: string },
): Promise<TurnAnswer> {
  // Without a reported usage the worst case is what we know.
  const usage = readUsage(call.body) ?? call.worst;
  const answer = {
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    usd: deps.model.costUsd(usage),
  };
  const { effectKey } = payer;
  await deps.journal.finish(
    { effectKey, turn: call.turn, requestHash: requestHash(call.request), response: call.body, ...answer },
    call.attempt,
    context.now(),
  );
  await deps.money.settle(reservationKey(payer, call.turn, call.attempt), answer.usd);
  return { ...answer, body: call.body, replayed: false };
}

function requestHash(request: ChatRequest): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('hex');
}

function attemptsUsedUp(): PeerError {
  return new PeerError({
    code: 'MODEL_ATTEMPTS_EXHAUSTED',
    message:
      `This turn was already sent to the model ${MAX_ATTEMPTS} times without an answer that arrived; ` +
      'it is not sent again, since each call may have been charged.',
    retryable: false,
  });
}
