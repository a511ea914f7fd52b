import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { Delivery } from '../../src/domain/delivery.js';
import { migrate } from '../../src/store/database.js';
import { CORE_MIGRATIONS } from '../../src/store/schema.js';
import { takeServiceLock } from '../../src/store/service-lock.js';
import { SqlInbox } from '../../src/store/sql-inbox.js';
import { openSqlite } from '../../src/store/sqlite-database.js';
import { type BucketState, takeToken } from '../../src/store/token-bucket.js';

const folder = mkdtempSync(join(tmpdir(), 'hasten-store-'));
afterAll(() => rmSync(folder, { recursive: true }));

const BUCKET = { ratePerSecond: 1, burst: 3 };
const LIMITS = { pendingPerRepository: 3, pendingTotal: 5, bucket: BUCKET };

async function openInbox(file = ':memory:') {
  const database = openSqlite(file);
  await migrate(database, CORE_MIGRATIONS, 0);
  let wakes = 0;
  const inbox = new SqlInbox(database, LIMITS, () => {
    wakes += 1;
  });
  return { database, inbox, wakes: () => wakes };
}

function delivery(id: string, overrides: Partial<Delivery> = {}): Delivery {
  return {
    id,
    source: 'github',
    event: 'issues',
    action: 'labeled',
    repositoryId: '1',
    installationId: 1,
    body: `{"id":"${id}"}`,
    bodyHash: id,
    receivedAt: 1000,
    ...overrides,
  };
}

describe('the inbox', () => {
  it('stores a delivery once by its id and, inside a day, once by its body', async () => {
    const { inbox } = await openInbox();
    expect(await inbox.store(delivery('a'))).toEqual({ outcome: 'stored' });
    expect(await inbox.store(delivery('a', { bodyHash: 'other' }))).toEqual({ outcome: 'duplicate' });
    expect(await inbox.store(delivery('b', { bodyHash: 'a' }))).toEqual({ outcome: 'duplicate' });
    const nextDay = 1000 + 86_400_000;
    expect(await inbox.store(delivery('c', { bodyHash: 'a', receivedAt: nextDay }))).toEqual({
      outcome: 'stored',
    });
  });

  it('answers requests that come together out of one commit', async () => {
    const { inbox, wakes, database } = await openInbox();
    const receipts = await Promise.all(['a', 'b', 'c'].map((id) => inbox.store(delivery(id))));
    expect(receipts.map((receipt) => receipt.outcome)).toEqual(['stored', 'stored', 'stored']);
    expect(wakes()).toBe(3);
    const rows = await database.tx((tx) => tx.get<{ n: number }>('select count(*) as n from delivery'));
    expect(rows?.n).toBe(3);
  });

  it('refuses with a hint when a repository or the whole service has too much pending, and stores nothing', async () => {
    const { inbox, database } = await openInbox();
    for (const id of ['a', 'b', 'c']) await inbox.store(delivery(id));
    expect(await inbox.store(delivery('d'))).toMatchObject({
      outcome: 'full',
      retryAfterSeconds: expect.any(Number),
    });
    await inbox.store(delivery('e', { repositoryId: '2' }));
    await inbox.store(delivery('f', { repositoryId: '2' }));
    expect(await inbox.store(delivery('g', { repositoryId: '3' }))).toMatchObject({ outcome: 'full' });
    const rows = await database.tx((tx) => tx.get<{ n: number }>('select count(*) as n from delivery'));
    expect(rows?.n).toBe(5);
  });

  it('still knows a delivery after the file was closed and opened again', async () => {
    const file = join(folder, 'again.db');
    const first = await openInbox(file);
    await first.inbox.store(delivery('a'));
    await first.database.close();
    const second = await openInbox(file);
    expect(await second.inbox.store(delivery('a'))).toEqual({ outcome: 'duplicate' });
    await second.database.close();
  });

  it('keeps the token bucket of each source in the database', async () => {
    const { inbox } = await openInbox();
    const answers = [];
    for (let n = 0; n < 4; n++) answers.push(await inbox.takeToken('github:1', 5000));
    expect(answers.map((answer) => answer.allowed)).toEqual([true, true, true, false]);
    expect(answers[3]?.retryAfterSeconds).toBe(1);
    expect(await inbox.takeToken('github:2', 5000)).toMatchObject({ allowed: true });
    expect(await inbox.takeToken('github:1', 6000)).toMatchObject({ allowed: true });
  });
});

describe('the token bucket', () => {
  it('never lets through more than its burst plus what came back since', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(
        gaps,
        fc.double({ min: 0.1, max: 5, noNaN: true }),
        fc.integer({ min: 1, max: 10 }),
        (steps, rate, burst) => {
          let state: BucketState | null = null;
          let now = 0;
          let allowed = 0;
          for (const step of steps) {
            now += step;
            const taken = takeToken(state, { ratePerSecond: rate, burst }, now);
            state = taken.state;
            if (taken.allowed) allowed += 1;
          }
          const start = steps[0] ?? 0;
          expect(allowed).toBeLessThanOrEqual(burst + ((now - start) / 1000) * rate + 1e-6);
        },
      ),
    );
  });
});

describe('the lock of a data folder', () => {
  it('is held by one service at a time and comes free when it is released', () => {
    const file = join(folder, 'service.lock');
    const lock = takeServiceLock(file);
    expect(() => takeServiceLock(file)).toThrow(/Another Hasten works on this data folder/);
    lock.release();
    takeServiceLock(file).release();
  });
});
