/** Pending deliveries: found fairly (one per repository at a time, oldest first) and closed in the transaction that applies them. */
import type { Delivery } from '../domain/delivery.js';
import type { Transaction } from '../store/database.js';

interface DeliveryRow {
  readonly delivery_id: string;
  readonly source: 'github' | 'alert';
  readonly event: string;
  readonly action: string | null;
  readonly repository_id: string | null;
  readonly installation_id: number | null;
  readonly body: string;
  readonly body_hash: string;
  readonly received_at: number;
  readonly attempt: number;
}

export interface PendingDelivery extends Delivery {
  readonly attempt: number;
}

/** The oldest due delivery of each repository that no earlier pending one of the same repository holds back. */
export async function dueDeliveries(
  tx: Transaction,
  at: number,
  limit: number,
): Promise<readonly PendingDelivery[]> {
  const rows = await tx.all<DeliveryRow>(
    `select d.* from delivery d
     where d.status = 'new' and d.due_at <= ? and not exists (
       select 1 from delivery o where o.status = 'new' and o.repository_id = d.repository_id
         and (o.received_at < d.received_at or (o.received_at = d.received_at and o.delivery_id < d.delivery_id)))
     order by d.received_at limit ?`,
    [at, limit],
  );
  return rows.map((row) => ({
    id: row.delivery_id,
    source: row.source,
    event: row.event,
    action: row.action,
    repositoryId: row.repository_id,
    installationId: row.installation_id,
    body: row.body,
    bodyHash: row.body_hash,
    receivedAt: row.received_at,
    attempt: row.attempt,
  }));
}

/** Ends a delivery. */
export async function closeDelivery(
  tx: Transaction,
  id: string,
  status: 'applied' | 'ignored' | 'dead',
  note: string | null,
): Promise<void> {
  await tx.run('update delivery set status = ?, note = ? where delivery_id = ?', [status, note, id]);
}

export async function postponeDelivery(
  tx: Transaction,
  id: string,
  dueAt: number,
  note: string,
): Promise<void> {
  await tx.run('update delivery set attempt = attempt + 1, due_at = ?, note = ? where delivery_id = ?', [
    dueAt,
    note,
    id,
  ]);
}

/** Leaves a delivery for later without counting a failed attempt. */
export async function waitWithDelivery(tx: Transaction, id: string, dueAt: number): Promise<void> {
  await tx.run('update delivery set due_at = ? where delivery_id = ?', [dueAt, id]);
}
