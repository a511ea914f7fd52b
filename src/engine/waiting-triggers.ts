/** Triggers that wait for their repository's machine: bounded, equal ones collapse, started in order. */
import type { Trigger } from '../domain/trigger.js';
import type { Transaction } from '../store/database.js';
import type { HeldRepository } from './leases.js';

/** Triggers that may wait per repository; further ones are refused with a comment. */
export const WAITING_LIMIT = 20;

export type Admission =
  /** Waits at this place, from 1. */
  | { readonly outcome: 'waiting'; readonly place: number }
  | { readonly outcome: 'duplicate' }
  /** An equal one waits or runs. */
  | { readonly outcome: 'collapsed'; readonly running: boolean }
  | { readonly outcome: 'refused'; readonly limit: number };

/** Lets a trigger wait, or says why not. */
export async function admitTrigger(
  tx: Transaction,
  held: HeldRepository,
  trigger: Trigger,
): Promise<Admission> {
  const seen = await tx.get(
    `select 1 as found from run where trigger_id = ?
     union all select 1 as found from waiting_trigger where trigger_id = ?`,
    [trigger.id, trigger.id],
  );
  if (seen !== undefined) return { outcome: 'duplicate' };
  const running = held.snapshot.context.run;
  if (running !== null && running.trigger.collapseKey === trigger.collapseKey)
    return { outcome: 'collapsed', running: true };
  const rows = await tx.all<{ collapse_key: string }>(
    'select collapse_key from waiting_trigger where repository_id = ?',
    [held.repository.id],
  );
  if (rows.some((row) => row.collapse_key === trigger.collapseKey))
    return { outcome: 'collapsed', running: false };
  if (rows.length >= WAITING_LIMIT) return { outcome: 'refused', limit: WAITING_LIMIT };
  await tx.run(
    'insert into waiting_trigger (trigger_id, repository_id, collapse_key, payload, requested_at) values (?, ?, ?, ?, ?)',
    [trigger.id, held.repository.id, trigger.collapseKey, JSON.stringify(trigger), trigger.requestedAt],
  );
  return { outcome: 'waiting', place: rows.length + 1 };
}

/** Takes the next trigger out of the line, or null. */
export async function takeWaiting(tx: Transaction, repositoryId: string): Promise<Trigger | null> {
  const row = await tx.get<{ trigger_id: string; payload: string }>(
    'select trigger_id, payload from waiting_trigger where repository_id = ? order by requested_at, trigger_id limit 1',
    [repositoryId],
  );
  if (row === undefined) return null;
  await tx.run('delete from waiting_trigger where trigger_id = ?', [row.trigger_id]);
  return JSON.parse(row.payload) as Trigger;
}

/** Removes the triggers of an issue from the line; returns how many those were. */
export async function dropWaiting(
  tx: Transaction,
  repositoryId: string,
  issueNumber: number,
): Promise<number> {
  const rows = await tx.all<{ trigger_id: string; payload: string }>(
    'select trigger_id, payload from waiting_trigger where repository_id = ?',
    [repositoryId],
  );
  const own = rows.filter((row) => (JSON.parse(row.payload) as Trigger).issueNumber === issueNumber);
  for (const row of own) await tx.run('delete from waiting_trigger where trigger_id = ?', [row.trigger_id]);
  return own.length;
}

/** Place in the line of an issue's trigger, from 1, or null. */
export async function placeOf(
  tx: Transaction,
  repositoryId: string,
  issueNumber: number,
): Promise<number | null> {
  const rows = await tx.all<{ payload: string }>(
    'select payload from waiting_trigger where repository_id = ? order by requested_at, trigger_id',
    [repositoryId],
  );
  const index = rows.findIndex((row) => (JSON.parse(row.payload) as Trigger).issueNumber === issueNumber);
  return index < 0 ? null : index + 1;
}
