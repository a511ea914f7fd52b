import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BudgetError } from '../../src/domain/errors.js';
import { migrate } from '../../src/store/database.js';
import { CORE_MIGRATIONS } from '../../src/store/schema.js';
import { SqlMoney } from '../../src/store/sql-money.js';
import { openSqlite } from '../../src/store/sqlite-database.js';

const HOUR = 3_600_000;
const LIMITS = { runUsd: 5, repositoryHourUsd: 10, installationDayUsd: 25, serviceDayUsd: 50 };

async function openMoney(limits = LIMITS) {
  const database = openSqlite(':memory:');
  await migrate(database, CORE_MIGRATIONS, 0);
  return { database, money: new SqlMoney(database, limits) };
}

function request(overrides: Partial<Parameters<SqlMoney['reserve']>[0]> = {}) {
  return {
    key: 'k1',
    run: 'run-1',
    repositoryId: 'repo-1',
    installationId: 1,
    usd: 1,
    at: 100 * HOUR,
    runLimitUsd: 5,
    ...overrides,
  };
}

describe('money', () => {
  it('books a reservation once per key and replaces it by what was really paid', async () => {
    const { money } = await openMoney();
    await money.reserve(request({ usd: 2 }));
    await money.reserve(request({ usd: 2 }));
    expect(await money.spentByRun('run-1')).toBe(2);
    await money.settle('k1', 0.25);
    expect(await money.spentByRun('run-1')).toBe(0.25);
  });

  it('gives back a reservation of a call that was never made, but never a settled one', async () => {
    const { money } = await openMoney();
    await money.reserve(request());
    await money.release('k1');
    expect(await money.spentByRun('run-1')).toBe(0);
    await money.reserve(request());
    await money.settle('k1', 1);
    await money.release('k1');
    expect(await money.spentByRun('run-1')).toBe(1);
  });

  it.each([
    ['run', request({ key: 'k2', usd: 3 })],
    [
      'repository and hour',
      request({ key: 'k2', run: 'run-2', usd: 3 }),
      { ...LIMITS, repositoryHourUsd: 5 },
    ],
    [
      'installation and day',
      request({ key: 'k2', run: 'run-2', repositoryId: 'r2', usd: 3 }),
      { ...LIMITS, installationDayUsd: 5 },
    ],
    [
      'service and day',
      request({ key: 'k2', run: 'run-2', repositoryId: 'r2', installationId: 2, usd: 3 }),
      { ...LIMITS, serviceDayUsd: 5 },
    ],
  ])(
    'refuses a call that has no room in the limit per %s, and books nothing',
    async (limit, second, limits = LIMITS) => {
      const { money } = await openMoney(limits);
      await money.reserve(request({ usd: 3 }));
      const error = await money.reserve(second).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(BudgetError);
      expect(error).toMatchObject({ limit, limitUsd: 5, usedUsd: 3 });
      expect(await money.spentByRun(second.run)).toBe(second.run === 'run-1' ? 3 : 0);
    },
  );

  it('lets room come back when an hour has passed', async () => {
    const { money } = await openMoney({ ...LIMITS, repositoryHourUsd: 5 });
    await money.reserve(request({ usd: 4 }));
    await expect(money.reserve(request({ key: 'k2', run: 'run-2', usd: 2 }))).rejects.toThrow(
      /repository and hour/,
    );
    await money.reserve(request({ key: 'k2', run: 'run-2', usd: 2, at: 101 * HOUR + 1 }));
  });

  it("never lets a repository's own limit pass the operator's", async () => {
    const { money } = await openMoney();
    await expect(money.reserve(request({ usd: 6, runLimitUsd: 100 }))).rejects.toThrow(BudgetError);
  });

  it('keeps every sum within its limit under any order of concurrent calls, answers and losses', async () => {
    const step = fc.record({
      action: fc.constantFrom('reserve', 'settle', 'release', 'crash'),
      key: fc.integer({ min: 0, max: 11 }).map((n) => `k${n}`),
      run: fc.constantFrom('run-1', 'run-2', 'run-3'),
      usd: fc.integer({ min: 1, max: 4_000_000 }).map((micro) => micro / 1_000_000),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { database, money } = await openMoney({ ...LIMITS, serviceDayUsd: 9 });
        const reserved = new Map<string, number>();
        await Promise.all(
          steps.map(async ({ action, key, run, usd, share }) => {
            if (action === 'reserve') {
              await money.reserve(request({ key, run, usd })).then(
                () => reserved.set(key, reserved.get(key) ?? usd),
                () => undefined,
              );
            } else if (action === 'settle') {
              await money.settle(key, (reserved.get(key) ?? 0) * share);
            } else if (action === 'release') {
              await money.release(key);
            }
          }),
        );
        for (const run of ['run-1', 'run-2', 'run-3'])
          expect(await money.spentByRun(run)).toBeLessThanOrEqual(5);
        const total = await database.tx((tx) =>
          tx.get<{ sum: number }>('select coalesce(sum(micro_usd), 0) as sum from reservation'),
        );
        expect(total?.sum).toBeLessThanOrEqual(9_000_000);
        await database.close();
      }),
      { numRuns: 60 },
    );
  });
});
