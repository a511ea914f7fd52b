import { afterEach, describe, expect, it } from 'vitest';
import type { Delivery, DeliveryReader } from '../../src/domain/delivery.js';
import type { Effect, EffectKind, Stations } from '../../src/domain/effect.js';
import { PeerError } from '../../src/domain/errors.js';
import type { MachineEvent } from '../../src/domain/event.js';
import type { Trigger } from '../../src/domain/trigger.js';
import { Engine } from '../../src/engine/engine.js';
import { LEASE_MS } from '../../src/engine/leases.js';
import { type Database, migrate, type Transaction } from '../../src/store/database.js';
import { CORE_MIGRATIONS } from '../../src/store/schema.js';
import { SqlInbox } from '../../src/store/sql-inbox.js';
import { openSqlite } from '../../src/store/sqlite-database.js';
import { HAPPY_ANSWERS, sampleTrigger } from '../support/run-samples.js';

type Behaviour = (effect: Effect, signal: AbortSignal) => Promise<MachineEvent | null>;

const open: { readonly engine: Engine; readonly database: Database }[] = [];

afterEach(async () => {
  for (const { engine } of open) await engine.stop(50);
  for (const { database } of open.splice(0)) await database.close();
});

interface Rig {
  readonly behaviours?: Partial<Record<EffectKind, Behaviour>>;
  /** Stands between the engine and its database. */
  readonly through?: (database: Database) => Database;
  readonly clock?: { now: number };
}

async function startEngine(rig: Rig = {}, onDatabase?: Database) {
  const database = onDatabase ?? openSqlite(':memory:');
  if (onDatabase === undefined) await migrate(database, CORE_MIGRATIONS, 0);
  const calls: Effect[] = [];
  const states: string[] = [];
  const errors: string[] = [];
  let reads = 0;
  const station = new Proxy({} as Stations, {
    get: (_target, kind: EffectKind) => async (effect: Effect, context: { signal: AbortSignal }) => {
      calls.push(effect);
      const behaviour = rig.behaviours?.[kind];
      return behaviour === undefined ? (HAPPY_ANSWERS[kind] ?? null) : behaviour(effect, context.signal);
    },
  });
  const triggers = new Map<string, Trigger>();
  const reader: DeliveryReader = {
    read: async ({ id }) => {
      reads += 1;
      return { kind: 'trigger', trigger: triggers.get(id) ?? sampleTrigger() };
    },
  };
  const clock = rig.clock ?? { now: Date.now() };
  const engine = new Engine({
    database: rig.through?.(database) ?? database,
    stations: station,
    reader,
    log: {
      info: () => undefined,
      warn: () => undefined,
      error: (_fields, message) => errors.push(message),
    },
    now: () => clock.now,
    random: () => 0,
    owner: `test-${Math.random()}`,
    deadlines: { runMs: 3_600_000, pauseMs: 7 * 86_400_000, pauseWithWaitingMs: 86_400_000 },
    concurrency: { work: 2, tell: 2, deliveries: 2 },
    onTransition: (applied) => states.push(applied.to),
  });
  open.push({ engine, database });
  await engine.start();
  const limits = { pendingPerRepository: 50, pendingTotal: 100, bucket: { ratePerSecond: 10, burst: 10 } };
  const inbox = new SqlInbox(database, limits, () => engine.wake());
  const deliver = (id = 'g-1', trigger = sampleTrigger()) => {
    triggers.set(id, trigger);
    return inbox.store(delivery(id, clock.now));
  };
  return { engine, database, calls, states, errors, clock, deliver, reads: () => reads };
}

function delivery(id: string, receivedAt: number): Delivery {
  return {
    id,
    source: 'github',
    event: 'issues',
    action: 'labeled',
    repositoryId: '101',
    installationId: 7,
    body: '{}',
    bodyHash: `hash of ${id}`,
    receivedAt,
  };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 8000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('The condition did not come true within 8 s.');
    await pause(10);
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const count = (calls: readonly Effect[], kind: EffectKind) =>
  calls.filter((call) => call.kind === kind).length;

/** A database in which `statement` works `skip` times and then fails so many times, as on a full disk. */
function failing(statement: RegExp, times: number, skip = 0) {
  let left = times;
  let good = skip;
  const through = (database: Database): Database => ({
    tx: (work) =>
      database.tx((tx) => {
        const guarded: Transaction = {
          ...tx,
          run: (sql, params) => {
            if (statement.test(sql) && good > 0) good -= 1;
            else if (statement.test(sql) && left > 0) {
              left -= 1;
              throw new Error('database or disk is full');
            }
            return tx.run(sql, params);
          },
        };
        return work(guarded);
      }),
    close: () => database.close(),
  });
  return { through, left: () => left };
}

/** Gives the repository to another process for a lease's time. */
const leaseElsewhere = (database: Database, until: number) =>
  database.tx((tx) => tx.run("update repository set lease_owner = 'other', lease_until = ?", [until]));

describe('an engine among faults', () => {
  it('keeps a paid answer until it can be stored, and does not ask for it again', async () => {
    const disk = failing(/update effect set status = \?, result/, 2);
    const { deliver, calls, states, errors } = await startEngine({ through: disk.through });
    await deliver();
    await until(() => states.at(-1) === 'listening');
    expect(disk.left()).toBe(0);
    expect(count(calls, 'prepare') + count(calls, 'acknowledge')).toBe(2);
    expect(errors.filter((line) => line.includes('could not be stored'))).toHaveLength(2);
  });

  it('applies a stored answer although the first tries fail, without another call', async () => {
    const disk = failing(/insert into run_event/, 2, 1);
    const { deliver, calls, states } = await startEngine({ through: disk.through });
    await deliver();
    await until(() => states.at(-1) === 'listening');
    expect(disk.left()).toBe(0);
    expect(count(calls, 'prepare') + count(calls, 'acknowledge')).toBe(2);
  });

  it('reads a delivery again that could not be applied, instead of losing it', async () => {
    const disk = failing(/insert into run_event/, 2);
    const { deliver, states, clock } = await startEngine({ through: disk.through });
    await deliver();
    await until(() => {
      clock.now += 500;
      return states.at(-1) === 'listening';
    });
    expect(states).toContain('submitting');
  });

  it('waits for a missing engine as long as it is away, without giving up', async () => {
    let away = 30;
    const { engine, deliver, calls, states, clock } = await startEngine({
      behaviours: {
        prepare: async () => {
          away -= 1;
          if (away >= 1) throw new PeerError({ code: 'DOCKER_UNAVAILABLE', message: 'away' });
          return HAPPY_ANSWERS.prepare ?? null;
        },
      },
    });
    await deliver();
    await until(() => {
      clock.now += 5000;
      engine.wake();
      return states.at(-1) === 'listening';
    });
    expect(count(calls, 'prepare')).toBe(30);
    expect(states).toContain('submitting');
  });

  it('gives up an effect that takes the process down again and again', async () => {
    const first = await startEngine({ behaviours: { prepare: () => new Promise(() => undefined) } });
    await first.deliver();
    await until(() => count(first.calls, 'prepare') === 1);
    await first.engine.stop(10);
    await first.database.tx((tx) =>
      tx.run("update effect set status = 'inflight', crashes = 9 where kind = 'prepare'"),
    );
    const second = await startEngine({}, first.database);
    await until(() => second.states.at(-1) === 'listening');
    expect(count(second.calls, 'prepare')).toBe(0);
    expect(second.calls.find((call) => call.kind === 'report')?.payload).toMatchObject({
      run: { outcome: 'failed', outcomeReason: expect.stringContaining('died 10 times') },
    });
  });

  it('keeps a deadline that falls due while another process holds the repository', async () => {
    const { deliver, states, calls, database, clock } = await startEngine({
      behaviours: {
        plan: (_effect, signal) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(new Error('stop'))),
          ),
      },
    });
    await deliver();
    await until(() => count(calls, 'plan') === 1);
    await leaseElsewhere(database, clock.now + 2 * 3_600_000);
    clock.now += 3_600_001;
    await pause(700);
    expect(await database.tx((tx) => tx.get('select name from timer'))).toEqual({ name: 'run' });
    clock.now += 2 * 3_600_000;
    await until(() => states.at(-1) === 'listening');
    expect(calls.find((call) => call.kind === 'report')?.payload).toMatchObject({
      run: { outcome: 'failed', outcomeReason: 'The run took longer than its deadline.' },
    });
  });

  it('leaves a delivery alone for a while when another process holds its repository, and reads it again later', async () => {
    const first = await startEngine({ behaviours: { acknowledge: async () => null } });
    await first.deliver();
    await until(() => first.states.at(-1) === 'listening');
    const { database, clock } = first;
    await leaseElsewhere(database, clock.now + LEASE_MS);
    await database.tx((tx) =>
      tx.run("update delivery set status = 'new', attempt = 0, due_at = 0 where delivery_id = 'g-1'"),
    );
    const before = first.reads();
    await pause(700);
    expect(first.reads() - before).toBe(1);
    clock.now += LEASE_MS + 1;
    await until(async () => {
      const row = await database.tx((tx) => tx.get<{ status: string }>('select status from delivery'));
      return row?.status === 'applied';
    });
  });

  it('goes on with other repositories when one cannot be read, and does not try that one in a hot loop', async () => {
    const { deliver, database, states, errors, clock } = await startEngine();
    await database.tx(async (tx) => {
      await tx.run(
        `insert into repository (repository_id, reference, machine_version, snapshot, state, updated_at)
         values ('7', '{}', 99, '{}', 'planning', 0)`,
      );
      await tx.run("insert into timer (repository_id, name, rev, fire_at) values ('7', 'run', 1, 0)");
      await tx.run(
        `insert into effect (idem, repository_id, run_id, rev, n, kind, lane, payload, payload_hash, status, due_at, created_at)
         values ('x', '7', 'r', 1, 0, 'plan', 'work', '{}', '', 'pending', 0, 0)`,
      );
    });
    await deliver();
    await until(() => states.at(-1) === 'listening');
    await pause(600);
    expect(errors.filter((line) => line.includes('deadline:7'))).toHaveLength(1);
    expect(errors.filter((line) => line.includes('Handling x'))).toHaveLength(1);
    clock.now += 10_001;
    await until(() => errors.filter((line) => line.includes('Handling x')).length === 2);
  });

  it('removes what a cancelled run made only after its work has let go', async () => {
    let letGo = (): void => undefined;
    const order: string[] = [];
    const { deliver, calls, states, database, clock } = await startEngine({
      behaviours: {
        plan: async (_effect, signal) => {
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
          await new Promise<void>((resolve) => {
            letGo = resolve;
          });
          order.push('plan let go');
          throw new Error('stopped');
        },
        discard: async () => {
          order.push('discard');
          return null;
        },
      },
    });
    await deliver();
    await until(() => count(calls, 'plan') === 1);
    clock.now += 3_600_001;
    await until(() => states.at(-1) === 'listening' && count(calls, 'remember') === 1);
    await pause(600);
    expect(order).toEqual([]);
    letGo();
    await until(() => order.length === 2);
    expect(order).toEqual(['plan let go', 'discard']);
    expect(await database.tx((tx) => tx.get("select 1 as open from effect where status = 'inflight'"))).toBe(
      undefined,
    );
  });

  it('answers people while the clean-up of an ended run waits for its engine', async () => {
    const { deliver, calls, states } = await startEngine({
      behaviours: {
        discard: async () => {
          throw new PeerError({ code: 'DOCKER_UNAVAILABLE', message: 'away' });
        },
      },
    });
    await deliver();
    await until(() => states.at(-1) === 'listening' && count(calls, 'discard') === 1);
    await deliver('g-2', sampleTrigger({ id: 'gh:2', issueNumber: 14, collapseKey: 'issue:14' }));
    await until(() => count(calls, 'acknowledge') === 2 && count(calls, 'report') === 2);
  });
});
