/** Money in the database: every reservation is checked against all limits in the transaction that books it. */
import { BudgetError } from '../domain/errors.js';
import type { Money, MoneyLimits, ReservationRequest } from '../domain/money.js';
import type { Database, SqlValue, Transaction } from './database.js';

const MICRO = 1_000_000;
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

interface Scope {
  readonly limit: string;
  readonly limitUsd: number;
  readonly where: string;
  readonly params: readonly SqlValue[];
}

/** `limits` are the operator's ceilings in US dollars; a request may narrow the run's. */
export class SqlMoney implements Money {
  constructor(
    private readonly database: Database,
    private readonly limits: MoneyLimits,
  ) {}

  async reserve(request: ReservationRequest): Promise<void> {
    if (!Number.isFinite(request.usd) || request.usd < 0) {
      throw new RangeError(`A reservation needs a finite amount of dollars, got ${request.usd}.`);
    }
    await this.database.tx(async (tx) => {
      const existing = await tx.get('select 1 as found from reservation where key = ?', [request.key]);
      if (existing !== undefined) return;
      for (const scope of this.scopes(request)) await assertRoom(tx, scope, toMicro(request.usd));
      await tx.run(
        `insert into reservation (key, run_id, repository_id, installation_id, micro_usd, settled, reserved_at)
         values (?, ?, ?, ?, ?, 0, ?)`,
        [
          request.key,
          request.run,
          request.repositoryId,
          request.installationId,
          toMicro(request.usd),
          request.at,
        ],
      );
    });
  }

  async settle(key: string, usd: number): Promise<void> {
    await this.database.tx((tx) =>
      tx.run('update reservation set micro_usd = ?, settled = 1 where key = ?', [toMicro(usd), key]),
    );
  }

  async release(key: string): Promise<void> {
    await this.database.tx((tx) => tx.run('delete from reservation where key = ? and settled = 0', [key]));
  }

  async spentByRun(run: string): Promise<number> {
    return this.database.tx(async (tx) => (await booked(tx, 'run_id = ?', [run])) / MICRO);
  }

  private scopes(request: ReservationRequest): readonly Scope[] {
    const scopes: Scope[] = [
      {
        limit: 'run',
        limitUsd: Math.min(request.runLimitUsd, this.limits.runUsd),
        where: 'run_id = ?',
        params: [request.run],
      },
      {
        limit: 'repository and hour',
        limitUsd: this.limits.repositoryHourUsd,
        where: 'repository_id = ? and reserved_at > ?',
        params: [request.repositoryId, request.at - HOUR_MS],
      },
      {
        limit: 'service and day',
        limitUsd: this.limits.serviceDayUsd,
        where: 'reserved_at > ?',
        params: [request.at - DAY_MS],
      },
    ];
    if (request.installationId !== null) {
      scopes.push({
        limit: 'installation and day',
        limitUsd: this.limits.installationDayUsd,
        where: 'installation_id = ? and reserved_at > ?',
        params: [request.installationId, request.at - DAY_MS],
      });
    }
    return scopes;
  }
}

/** Rounded up, so that many small calls never add up to less than they cost. */
function toMicro(usd: number): number {
  return Math.ceil(usd * MICRO - 1e-6);
}

async function booked(tx: Transaction, where: string, params: readonly SqlValue[]): Promise<number> {
  const row = await tx.get<{ total: number }>(
    `select coalesce(sum(micro_usd), 0) as total from reservation where ${where}`,
    params,
  );
  return row?.total ?? 0;
}

async function assertRoom(tx: Transaction, scope: Scope, microUsd: number): Promise<void> {
  const used = await booked(tx, scope.where, scope.params);
  if (used + microUsd <= Math.floor(scope.limitUsd * MICRO + 1e-6)) return;
  throw new BudgetError({
    code: 'BUDGET_EXHAUSTED',
    limit: scope.limit,
    limitUsd: scope.limitUsd,
    usedUsd: used / MICRO,
    message:
      `The next model call may cost $${(microUsd / MICRO).toFixed(4)}, but of the limit of $${scope.limitUsd.toFixed(2)} ` +
      `per ${scope.limit} $${(used / MICRO).toFixed(4)} are booked. The call was not made.`,
  });
}
