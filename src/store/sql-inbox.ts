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
  readonly work: (tx: Transaction) => Promise<void>;
  readonly settle: () => void;
  readonly fail: (error: unknown) => void;
}

/** `wake` is called after each commit that stored something new. */
export class SqlInbox implements Inbox {
  private batch: Waiting[] = [];

  constructor(
    private readonly database: Database,
    private readonly limits: InboxLimits,
    private readonly wake: () => void,
  ) {}

  async store(delivery: Delivery): Promise<DeliveryReceipt> {
    const receipt = await this.grouped((tx) => this.insert(tx, delivery));
    if (receipt.outcome === 'stored') this.wake();
    return receipt;
  }

  takeToken(source: string, at: number): Promise<{ allowed: boolean; retryAfterSeconds: number }> {
    return this.grouped((tx) => this.take(tx, source, at));
  }

  /** Lets `work` share a transaction with everything else that comes until the event loop turns. */
  private grouped<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let result: T;
      this.batch.push({
        work: async (tx) => {
          result = await work(tx);
        },
        settle: () => resolve(result),
        fail: reject,
      });
      if (this.batch.length === 1) setImmediate(() => void this.commit());
    });
  }

  private async commit(): Promise<void> {
    const batch = this.batch;
    this.batch = [];
    try {
      await this.database.tx(async (tx) => {
        for (const waiting of batch) await waiting.work(tx);
      });
    } catch (error) {
      for (const waiting of batch) waiting.fail(error);
      return;
    }
    for (const waiting of batch) waiting.settle();
  }

  private async take(
    tx: Transaction,
    source: string,
    at: number,
  ): Promise<{ allowed: boolean; retryAfterSeconds: number }> {
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
