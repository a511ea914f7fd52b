/** Deadlines as rows: they come due while the service is down too, and fire once. */
import type { Transaction } from '../store/database.js';

export type DeadlineName = 'run' | 'pause';

export interface DueDeadline {
  readonly repositoryId: string;
  readonly name: DeadlineName;
  readonly rev: number;
}

/** Sets or moves a deadline to `fireAt` (epoch milliseconds). */
export async function startDeadline(
  tx: Transaction,
  repositoryId: string,
  name: DeadlineName,
  rev: number,
  fireAt: number,
): Promise<void> {
  await tx.run(
    `insert into timer (repository_id, name, rev, fire_at) values (?, ?, ?, ?)
     on conflict (repository_id, name) do update set rev = excluded.rev, fire_at = excluded.fire_at`,
    [repositoryId, name, rev, fireAt],
  );
}

/** Brings a running pause deadline forward, never back. */
export async function hastenPause(tx: Transaction, repositoryId: string, fireAt: number): Promise<void> {
  await tx.run("update timer set fire_at = ? where repository_id = ? and name = 'pause' and fire_at > ?", [
    fireAt,
    repositoryId,
    fireAt,
  ]);
}

export async function stopDeadlines(tx: Transaction, repositoryId: string): Promise<void> {
  await tx.run('delete from timer where repository_id = ?', [repositoryId]);
}

export async function dueDeadlines(tx: Transaction, at: number): Promise<readonly DueDeadline[]> {
  return tx.all<DueDeadline>(
    'select repository_id as "repositoryId", name, rev from timer where fire_at <= ? order by fire_at',
    [at],
  );
}

/** Removes a deadline that fired. */
export async function consumeDeadline(tx: Transaction, deadline: DueDeadline): Promise<void> {
  await tx.run('delete from timer where repository_id = ? and name = ? and rev = ?', [
    deadline.repositoryId,
    deadline.name,
    deadline.rev,
  ]);
}
