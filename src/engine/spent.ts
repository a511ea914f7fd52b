/** What a run has cost so far, for words to people; the limits themselves are the store's. */
import type { Transaction } from '../store/database.js';

/** Dollars booked to a run: settled plus still reserved. */
export async function spentUsd(tx: Transaction, runId: string): Promise<number> {
  const row = await tx.get<{ total: number }>(
    'select coalesce(sum(micro_usd), 0) as total from reservation where run_id = ?',
    [runId],
  );
  return (row?.total ?? 0) / 1_000_000;
}
