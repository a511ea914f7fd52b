/** Stores deliveries before they are acknowledged: requests that come together share one durable commit. */
import type { Delivery, DeliveryReceipt, Inbox } from '../domain/delivery.js';
import type { Database, Transaction } from './database.js';
import { type BucketRule, type BucketState, takeToken } from './token-bucket.js';

export interface InboxLimits {
  readonly pendingPerRepository: number;
  readonly pendingTotal: number;
  readonly bucket: BucketRule;
}

/** An equal body counts as the same delivery for this long, since the signature does not cover the delivery id. */
const SAME_BODY_MS = 24 * 60 * 60 * 1000;
const RETRY_AFTER_SECONDS = 30;

interface Waiting {
  readonly delivery: Delivery;
  readonly resolve: (receipt: DeliveryReceipt) => void;
  readonly reject: (error: unknown) => void;
}

/** `wake` is called after each commit that stored something new. */
export class SqlInbox implements Inbox {
  private batch: Waiting[] = [];

  constructor(
    private readonly database: Database,
    private readonly limits: InboxLimits,
    private readonly wake: () => void,
  ) {}

  store(delivery: Delivery): Promise<DeliveryReceipt> {
    return new Promise((resolve, reject) => {
      this.batch.push({ delivery, resolve, reject });
      if (this.batch.length === 1) setImmediate(() => void this.commit());
    });
  }

  async takeToken(source: string, at: number): Promise<{ allowed: boolean; retryAfterSeconds: number }> {
    return this.database.tx(async (tx) => {
      const row = await tx.get<{ tokens: number; updated_at: number }>(
        'select tokens, updated_at from bucket where source = ?',
        [source],
      );
      const before: BucketState | null = row ? { tokens: row.tokens, updatedAt: row.updated_at } : null;
      const { state, allowed, retryAfterSeconds } = takeToken(before, this.limits.bucket, at);
      await tx.run(
        `insert into bucket (source, tokens, updated_at) values (?, ?, ?)
         on conflict (source) do update set tokens = excluded.tokens, updated_at = excluded.updated_at`,
        [source, state.tokens, state.updatedAt],
      );
      return { allowed, retryAfterSeconds };
    });
  }

  private async commit(): Promise<void> {
    const batch = this.batch;
    this.batch = [];
    try {
      const receipts = await this.database.tx(async (tx) => {
        const results: DeliveryReceipt[] = [];
        for (const { delivery } of batch) results.push(await this.insert(tx, delivery));
        return results;
      });
      batch.forEach((waiting, index) => {
        waiting.resolve(receipts[index] ?? { outcome: 'duplicate' });
      });
      if (receipts.some((receipt) => receipt.outcome === 'stored')) this.wake();
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
  }

  private async insert(tx: Transaction, delivery: Delivery): Promise<DeliveryReceipt> {
    const seen = await tx.get(
      'select 1 as seen from delivery where delivery_id = ? or (body_hash = ? and received_at > ?) limit 1',
      [delivery.id, delivery.bodyHash, delivery.receivedAt - SAME_BODY_MS],
    );
    if (seen !== undefined) return { outcome: 'duplicate' };
    if (await this.isFull(tx, delivery.repositoryId))
      return { outcome: 'full', retryAfterSeconds: RETRY_AFTER_SECONDS };
    await tx.run(
      `insert into delivery (delivery_id, source, event, action, repository_id, installation_id, body, body_hash,
         status, due_at, received_at) values (?, ?, ?, ?, ?, ?, ?, ?, 'new', ?, ?)`,
      [
        delivery.id,
        delivery.source,
        delivery.event,
        delivery.action,
        delivery.repositoryId,
        delivery.installationId,
        delivery.body,
        delivery.bodyHash,
        delivery.receivedAt,
        delivery.receivedAt,
      ],
    );
    return { outcome: 'stored' };
  }

  private async isFull(tx: Transaction, repositoryId: string | null): Promise<boolean> {
    const row = await tx.get<{ total: number; own: number }>(
      `select count(*) as total, coalesce(sum(case when repository_id = ? then 1 else 0 end), 0) as own
       from delivery where status = 'new'`,
      [repositoryId],
    );
    if (row === undefined) return false;
    return row.total >= this.limits.pendingTotal || row.own >= this.limits.pendingPerRepository;
  }
}
