/** Claims one effect, lets its station perform it, stores the answer and applies it; each step its own transaction. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Effect, StationContext, Stations } from '../domain/effect.js';
import { BudgetError, BugError, HastenError, storedError } from '../domain/errors.js';
import type { MachineEvent } from '../domain/event.js';
import type { Log } from '../domain/log.js';
import type { RepositoryRef } from '../domain/repository.js';
import type { Database } from '../store/database.js';
import { type Applied, LeaseLostError } from './apply-event.js';
import { claim, type EffectRow, isSuperseded, postpone, recordResult } from './effect-outbox.js';
import type { Leases } from './leases.js';
import { retryAfter } from './retry-policy.js';

/** Deaths of the process after which an effect is given up: it takes the service down each time. */
const MOST_CRASHES = 10;
/** Pauses between tries to write down an answer, milliseconds. */
const FIRST_STORE_PAUSE_MS = 250;
const LONGEST_STORE_PAUSE_MS = 30_000;
/** About half an hour. */
const MOST_STORE_TRIES = 64;

export interface Performing {
  readonly database: Database;
  readonly leases: Leases;
  readonly stations: Stations;
  readonly log: Log;
  readonly now: () => number;
  readonly random: () => number;
  /** Applies the stored answer (`fx:<key>`). */
  readonly apply: (repositoryId: string, event: MachineEvent, eventId: string) => Promise<Applied | null>;
}

type Answer =
  | { readonly kind: 'event'; readonly event: MachineEvent | null; readonly error: unknown }
  | { readonly kind: 'again'; readonly dueAt: number; readonly error: unknown; readonly counts: boolean }
  | { readonly kind: 'parked' };

/** Performs an effect to its end for now; never throws for a station's failure. */
export async function performEffect(
  performing: Performing,
  row: EffectRow,
  signal: AbortSignal,
): Promise<void> {
  const repository = await claimEffect(performing, row);
  if (repository === null) return;
  const answer = await callStation(performing, row, repository, signal);
  const stored = await untilWritten(performing, row, signal, () => storeAnswer(performing, row, answer));
  if (stored === null) return;
  await untilWritten(performing, row, signal, () =>
    performing.apply(row.repositoryId, stored, `fx:${row.key}`),
  );
}

/**
 * A paid answer must not be lost to a full disk or a locked file, and nothing else would come back to this effect
 * before the next start: it is written again until it stands. When the service stops meanwhile, the next start repeats
 * the effect.
 */
async function untilWritten<T>(
  performing: Performing,
  row: EffectRow,
  signal: AbortSignal,
  write: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      const isOurs = error instanceof LeaseLostError || error instanceof HastenError;
      if (signal.aborted || isOurs || tries >= MOST_STORE_TRIES) throw error;
      const pauseMs = Math.min(LONGEST_STORE_PAUSE_MS, FIRST_STORE_PAUSE_MS * 2 ** (tries - 1));
      const stored = storedError(error);
      performing.log.error(
        { effect: row.key, error: stored, retryInMs: pauseMs },
        `The answer of ${row.kind} could not be stored and is stored again: ${stored.message}`,
      );
      await sleep(pauseMs, undefined, { signal });
    }
  }
}

function givenUp(row: EffectRow): BugError {
  return new BugError({
    code: 'EFFECT_KEEPS_CRASHING',
    message: `The service died ${row.crashes} times while it worked on ${row.kind}, so it is given up; its log tells of what.`,
  });
}

async function claimEffect(performing: Performing, row: EffectRow): Promise<RepositoryRef | null> {
  return performing.database.tx(async (tx) => {
    const held = await performing.leases.hold(tx, row.repositoryId, performing.now());
    if (held === null || !(await claim(tx, row.key, held.fence))) return null;
    if (await isSuperseded(tx, row)) {
      await recordResult(tx, held, row.key, { status: 'done', event: null, error: null }, performing.now());
      return null;
    }
    return held.repository;
  });
}

async function callStation(
  performing: Performing,
  row: EffectRow,
  repository: RepositoryRef,
  signal: AbortSignal,
): Promise<Answer> {
  const fields = {
    repository: `${repository.owner}/${repository.name}`,
    run: row.runId,
    effect: row.key,
    kind: row.kind,
  };
  try {
    if (row.crashes >= MOST_CRASHES) throw givenUp(row);
    const context: StationContext = {
      signal,
      now: performing.now,
      progress: (line) => performing.log.info({ ...fields, progress: line }, line),
    };
    const event = await call(performing.stations, row, repository, context);
    return { kind: 'event', event, error: null };
  } catch (error) {
    if (signal.aborted) return { kind: 'parked' };
    return answerFailure(performing, row, error, fields);
  }
}

function answerFailure(performing: Performing, row: EffectRow, error: unknown, fields: object): Answer {
  if (error instanceof BudgetError) {
    const { limit, limitUsd, usedUsd } = error;
    return { kind: 'event', event: { type: 'BUDGET_EXHAUSTED', limit, limitUsd, usedUsd }, error };
  }
  const retry = retryAfter(error, row.lane, row.failures, performing.random());
  const stored = storedError(error);
  if (retry.again) {
    performing.log.warn(
      { ...fields, error: stored, retryInMs: retry.delayMs },
      `${row.kind} failed and is tried again: ${stored.message}`,
    );
    return { kind: 'again', dueAt: performing.now() + retry.delayMs, error, counts: retry.counts };
  }
  const stack = stored.fault === 'bug' && error instanceof Error ? error.stack : undefined;
  performing.log.error({ ...fields, error: stored, stack }, `${row.kind} failed: ${stored.message}`);
  const moves = row.lane === 'work' || row.kind === 'report';
  return {
    kind: 'event',
    event: moves ? { type: 'STATION_FAILED', station: row.kind, error: stored, ...draftOf(error) } : null,
    error,
  };
}

/** A station may hand its unfinished patch over with the error, as evidence for recovering. */
function draftOf(error: unknown): { readonly diff?: string } {
  if (error instanceof Error && 'diff' in error && typeof error.diff === 'string')
    return { diff: error.diff };
  return {};
}

async function storeAnswer(
  performing: Performing,
  row: EffectRow,
  answer: Answer,
): Promise<MachineEvent | null> {
  return performing.database.tx(async (tx) => {
    const at = performing.now();
    const held = await performing.leases.hold(tx, row.repositoryId, at);
    if (held === null) return null;
    if (answer.kind === 'parked') {
      await postpone(tx, held, row.key, at, null);
      return null;
    }
    if (answer.kind === 'again') {
      await postpone(tx, held, row.key, answer.dueAt, answer.counts ? storedError(answer.error) : null);
      return null;
    }
    const error = answer.error === null ? null : storedError(answer.error);
    const status = error === null ? 'done' : 'failed';
    const kept = await recordResult(tx, held, row.key, { status, event: answer.event, error }, at);
    return kept ? answer.event : null;
  });
}

/** Effects are rows of JSON that this process or an older one wrote; kind and payload belong together by `intend`. */
async function call(
  stations: Stations,
  row: EffectRow,
  repository: RepositoryRef,
  context: StationContext,
): Promise<MachineEvent | null> {
  const effect = {
    key: row.key,
    kind: row.kind,
    repository,
    payload: JSON.parse(row.payload),
    createdAt: row.createdAt,
    attempt: row.attempt + 1,
  };
  const station: (effect: Effect<never>, context: StationContext) => Promise<MachineEvent | null> =
    stations[row.kind];
  return station(effect as Effect<never>, context);
}
