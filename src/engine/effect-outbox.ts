/** The outbox: effects as rows before they are done, claimed once, answered once, under the fence of the lease. */
import { createHash } from 'node:crypto';
import type { EffectKind, EffectPayloads } from '../domain/effect.js';
import { BugError, type StoredError } from '../domain/errors.js';
import type { MachineEvent } from '../domain/event.js';
import type { Transaction } from '../store/database.js';
import type { HeldRepository } from './leases.js';

export type Lane = 'work' | 'tell';

const WORK: ReadonlySet<EffectKind> = new Set<EffectKind>([
  'prepare',
  'plan',
  'execute',
  'evaluate',
  'recover',
  'submit',
]);

/** The lane of a kind: work moves the machine, telling goes beside it; each is in order per repository. */
export function laneOf(kind: EffectKind): Lane {
  return WORK.has(kind) ? 'work' : 'tell';
}

export interface NewEffect<K extends EffectKind = EffectKind> {
  readonly key: string;
  readonly kind: K;
  readonly repositoryId: string;
  readonly runId: string | null;
  readonly rev: number;
  readonly n: number;
  readonly payload: EffectPayloads[K];
  readonly at: number;
}

export interface EffectRow {
  readonly key: string;
  readonly kind: EffectKind;
  readonly lane: Lane;
  readonly repositoryId: string;
  readonly runId: string | null;
  readonly payload: string;
  /** Tries so far, crashes and parking included. */
  readonly attempt: number;
  /** Tries that ended in an error. */
  readonly failures: number;
  /** Tries during which the process died. */
  readonly crashes: number;
  readonly createdAt: number;
}

const COLUMNS = `idem as key, kind, lane, repository_id as "repositoryId", run_id as "runId", payload, attempt, failures,
  crashes, created_at as "createdAt"`;

/** Adds an effect. The same key with another payload is a bug and stops the transaction. */
export async function intend(tx: Transaction, effect: NewEffect): Promise<void> {
  const payload = JSON.stringify(effect.payload);
  const hash = createHash('sha256').update(payload).digest('hex');
  const existing = await tx.get<{ payload_hash: string }>('select payload_hash from effect where idem = ?', [
    effect.key,
  ]);
  if (existing !== undefined) {
    if (existing.payload_hash === hash) return;
    throw new BugError({
      code: 'EFFECT_KEY_REUSED',
      message: `The effect ${effect.key} exists with another payload; keys must name one intention.`,
    });
  }
  await tx.run(
    `insert into effect (idem, repository_id, run_id, rev, n, kind, lane, payload, payload_hash, status, due_at, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`,
    [
      effect.key,
      effect.repositoryId,
      effect.runId,
      effect.rev,
      effect.n,
      effect.kind,
      laneOf(effect.kind),
      payload,
      hash,
      effect.at,
      effect.at,
    ],
  );
}

/**
 * The oldest open effect of each repository and lane that is due, and not held back by an earlier one of its lane.
 * Clean-up holds nothing back: it waits for a Docker engine that is away, and answers to people must not.
 */
export async function dueEffects(tx: Transaction, at: number): Promise<readonly EffectRow[]> {
  return tx.all<EffectRow>(
    `select ${COLUMNS} from effect e
     where status = 'pending' and due_at <= ? and not exists (
       select 1 from effect o where o.repository_id = e.repository_id and o.lane = e.lane
         and o.kind <> 'discard' and o.status in ('pending', 'inflight') and (o.rev < e.rev or (o.rev = e.rev and o.n < e.n)))
     order by created_at`,
    [at],
  );
}

/** What a dead process left in flight goes back to pending; its next attempt must find before it creates. */
export async function reopenInflight(tx: Transaction, at: number): Promise<number> {
  const { changes } = await tx.run(
    "update effect set status = 'pending', due_at = ?, crashes = crashes + 1 where status = 'inflight'",
    [at],
  );
  return changes;
}

/** Claims an effect before the call. False when it is no longer pending. */
export async function claim(tx: Transaction, key: string, fence: number): Promise<boolean> {
  const { changes } = await tx.run(
    "update effect set status = 'inflight', attempt = attempt + 1, fence = ? where idem = ? and status = 'pending'",
    [fence, key],
  );
  return changes === 1;
}

/** Stores the answer. False when the effect was cancelled or the lease is another's: the answer must be dropped. */
export async function recordResult(
  tx: Transaction,
  held: HeldRepository,
  key: string,
  outcome: {
    readonly status: 'done' | 'failed';
    readonly event: MachineEvent | null;
    readonly error: StoredError | null;
  },
  at: number,
): Promise<boolean> {
  const { changes } = await tx.run(
    `update effect set status = ?, result = ?, last_error = ?, ended_at = ?
     where idem = ? and status = 'inflight' and fence = ?`,
    [
      outcome.status,
      outcome.event === null ? null : JSON.stringify(outcome.event),
      outcome.error === null ? null : JSON.stringify(outcome.error),
      at,
      key,
      held.fence,
    ],
  );
  return changes === 1;
}

/** Whether a branch or pull request of the repository may be coming into being, or has and the machine does not know yet. */
export async function isPushing(tx: Transaction, repositoryId: string): Promise<boolean> {
  const pushing = await tx.get(
    `select 1 as found from effect e where e.repository_id = ? and e.kind = 'submit' and (
       e.status = 'inflight' or (e.status in ('done', 'failed') and e.result is not null and not exists (
         select 1 from run_event v where v.repository_id = e.repository_id and v.event_id = 'fx:' || e.idem)))`,
    [repositoryId],
  );
  return pushing !== undefined;
}

/** Puts a claimed effect back, due at `dueAt`; with an error it counts as a failure. */
export async function postpone(
  tx: Transaction,
  held: HeldRepository,
  key: string,
  dueAt: number,
  error: StoredError | null,
): Promise<void> {
  await tx.run(
    `update effect set status = 'pending', due_at = ?, last_error = ?, failures = failures + ?
     where idem = ? and status = 'inflight' and fence = ?`,
    [dueAt, error === null ? null : JSON.stringify(error), error === null ? 0 : 1, key, held.fence],
  );
}

/** Cancels what a run still means to do or does; returns the keys. */
export async function cancelWork(tx: Transaction, runId: string, at: number): Promise<readonly string[]> {
  const rows = await tx.all<{ key: string }>(
    `update effect set status = 'cancelled', ended_at = ?
     where run_id = ? and lane = 'work' and status in ('pending', 'inflight') returning idem as key`,
    [at, runId],
  );
  return rows.map((row) => row.key);
}

/** Answers that were stored but not yet applied to the machine (the process died between the two). */
export async function unappliedResults(tx: Transaction): Promise<
  readonly {
    readonly key: string;
    readonly repositoryId: string;
    readonly runId: string | null;
    readonly result: string;
  }[]
> {
  return tx.all(
    `select e.idem as key, e.repository_id as "repositoryId", e.run_id as "runId", e.result from effect e
     where e.status in ('done', 'failed') and e.result is not null and not exists (
       select 1 from run_event v where v.repository_id = e.repository_id and v.event_id = 'fx:' || e.idem)
     order by e.ended_at`,
  );
}

/** True when a newer status of the same run waits in the lane, so that this one need not be told. */
export async function isSuperseded(tx: Transaction, effect: EffectRow): Promise<boolean> {
  if (effect.kind !== 'update-status' || effect.runId === null) return false;
  const newer = await tx.get(
    `select 1 as found from effect where run_id = ? and kind in ('update-status', 'report') and status = 'pending'
       and rev > (select rev from effect where idem = ?)`,
    [effect.runId, effect.key],
  );
  return newer !== undefined;
}
