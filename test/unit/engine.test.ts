import { afterEach, describe, expect, it } from 'vitest';
import type { Delivery, Reading } from '../../src/domain/delivery.js';
import type { Effect, EffectKind, Stations } from '../../src/domain/effect.js';
import { BudgetError, PeerError } from '../../src/domain/errors.js';
import type { MachineEvent } from '../../src/domain/event.js';
import { Engine, type EngineOptions } from '../../src/engine/engine.js';
import { type Database, migrate } from '../../src/store/database.js';
import { CORE_MIGRATIONS } from '../../src/store/schema.js';
import { SqlInbox } from '../../src/store/sql-inbox.js';
import { openSqlite } from '../../src/store/sqlite-database.js';
import { HAPPY_ANSWERS, SAMPLE_PATCH, sampleRepository, sampleTrigger } from '../support/run-samples.js';

type Behaviour = (effect: Effect, signal: AbortSignal) => Promise<MachineEvent | null>;

const open: { engine: Engine; database: Database }[] = [];

afterEach(async () => {
  for (const { engine, database } of open.splice(0)) {
    await engine.stop(50);
    await database.close();
  }
});

/** An engine on a database of its own, with stations that answer at once unless a behaviour is given. */
async function startEngine(behaviours: Partial<Record<EffectKind, Behaviour>> = {}, onDatabase?: Database) {
  const database = onDatabase ?? openSqlite(':memory:');
  if (onDatabase === undefined) await migrate(database, CORE_MIGRATIONS, 0);
  const calls: Effect[] = [];
  const states: string[] = [];
  const station = (kind: EffectKind) => async (effect: Effect, context: { signal: AbortSignal }) => {
    calls.push(effect);
    const behaviour = behaviours[kind];
    return behaviour === undefined ? HAPPY_ANSWERS[kind] : behaviour(effect, context.signal);
  };
  const stations: Stations = {
    acknowledge: station('acknowledge'),
    prepare: station('prepare'),
    plan: station('plan'),
    execute: station('execute'),
    evaluate: station('evaluate'),
    recover: station('recover'),
    submit: station('submit'),
    report: station('report'),
    remember: station('remember'),
    discard: station('discard'),
    'update-status': station('update-status'),
    'ask-approval': station('ask-approval'),
    reply: station('reply'),
    'make-ready': station('make-ready'),
    'record-fate': station('record-fate'),
  };
  let clock = Date.now();
  const readings = new Map<string, Reading>();
  const options: EngineOptions = {
    database,
    stations,
    reader: { read: async (delivery) => readings.get(delivery.id) ?? { kind: 'ignored', reason: 'unknown' } },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    now: () => clock,
    random: () => 0,
    owner: `test-${Math.random()}`,
    deadlines: { runMs: 3_600_000, pauseMs: 7 * 86_400_000, pauseWithWaitingMs: 86_400_000 },
    concurrency: { work: 2, tell: 2, deliveries: 2 },
    onTransition: (applied) => states.push(applied.to),
  };
  const engine = new Engine(options);
  open.push({ engine, database });
  await engine.start();
  const limits = { pendingPerRepository: 50, pendingTotal: 100, bucket: { ratePerSecond: 10, burst: 10 } };
  const inbox = new SqlInbox(database, limits, () => engine.wake());
  const deliver = async (reading: Reading, id = `g-${readings.size}`) => {
    readings.set(id, reading);
    return inbox.store(deliveryOf(id, clock));
  };
  const advanceClock = (ms: number) => {
    clock += ms;
    engine.wake();
  };
  return { engine, database, calls, states, deliver, advanceClock };
}

function deliveryOf(id: string, receivedAt: number): Delivery {
  return {
    id,
    source: 'github',
    event: 'issues',
    action: 'labeled',
    repositoryId: '101',
    installationId: 7,
    body: '{}',
    bodyHash: `hash-${id}`,
    receivedAt,
  };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 8000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('The condition did not come true within 8 s.');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const kindsOf = (calls: readonly Effect[]) => calls.map((call) => call.kind);
const count = (calls: readonly Effect[], kind: EffectKind) =>
  calls.filter((call) => call.kind === kind).length;

describe('the engine', () => {
  it('drives a trigger through every station to a pull request and its report', async () => {
    const { deliver, calls, states, database } = await startEngine();
    await deliver({ kind: 'trigger', trigger: sampleTrigger() });
    await until(() => states.at(-1) === 'listening' && count(calls, 'discard') === 1);
    expect(kindsOf(calls).filter((kind) => kind !== 'update-status' && kind !== 'acknowledge')).toEqual([
      'prepare',
      'plan',
      'execute',
      'evaluate',
      'submit',
      'report',
      'remember',
      'discard',
    ]);
    const run = await database.tx((tx) =>
      tx.get<{ outcome: string; status: string }>('select outcome, status from run'),
    );
    expect(run).toEqual({ outcome: 'pull-request', status: 'done' });
  });

  it('starts one run for the same trigger told twice, and collapses an equal one while it works', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { deliver, calls, states } = await startEngine({
      plan: async () => {
        await held;
        return HAPPY_ANSWERS.plan;
      },
    });
    await deliver({ kind: 'trigger', trigger: sampleTrigger() }, 'a');
    expect(await deliver({ kind: 'trigger', trigger: sampleTrigger() }, 'a')).toEqual({
      outcome: 'duplicate',
    });
    await until(() => count(calls, 'plan') === 1);
    await deliver({ kind: 'trigger', trigger: sampleTrigger({ id: 'gh:2' }) }, 'b');
    release();
    await until(() => states.filter((state) => state === 'listening').length === 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(count(calls, 'prepare')).toBe(1);
  });

  it('queues another trigger while the machine is busy, tells its place and starts it afterwards', async () => {
    const { deliver, calls, states } = await startEngine({
      plan: async () => {
        await new Promise((resolve) => setTimeout(resolve, 150));
        return HAPPY_ANSWERS.plan;
      },
    });
    await deliver({ kind: 'trigger', trigger: sampleTrigger() });
    await until(() => count(calls, 'plan') === 1);
    const other = sampleTrigger({ id: 'gh:2', issueNumber: 14, collapseKey: 'issue:14' });
    await deliver({ kind: 'trigger', trigger: other });
    await until(() => states.filter((state) => state === 'listening').length === 2);
    const reply = calls.find((call) => call.kind === 'reply')?.payload;
    expect(reply).toMatchObject({ issueNumber: 14, text: expect.stringContaining('place 1') });
    expect(count(calls, 'submit')).toBe(2);
  });

  it('tries a failing peer again, with the attempt told, and then goes on', async () => {
    let failures = 0;
    const { deliver, calls, states, advanceClock } = await startEngine({
      evaluate: async () => {
        failures += 1;
        if (failures <= 2) throw new PeerError({ code: 'GITHUB_DOWN', message: 'down' });
        return HAPPY_ANSWERS.evaluate;
      },
    });
    await deliver({ kind: 'trigger', trigger: sampleTrigger() });
    await until(() => {
      advanceClock(1000);
      return states.at(-1) === 'listening';
    });
    expect(calls.filter((call) => call.kind === 'evaluate').map((call) => call.attempt)).toEqual([1, 2, 3]);
    expect(count(calls, 'recover')).toBe(0);
  });

  it('pauses when the budget has no room, and goes on from there when somebody approves', async () => {
    let calls_ = 0;
    const { deliver, calls, states } = await startEngine({
      execute: async () => {
        calls_ += 1;
        if (calls_ > 1) return HAPPY_ANSWERS.execute;
        throw new BudgetError({
          code: 'BUDGET_EXHAUSTED',
          message: 'no',
          limit: 'run',
          limitUsd: 1,
          usedUsd: 0.9,
        });
      },
    });
    await deliver({ kind: 'trigger', trigger: sampleTrigger() });
    await until(() => count(calls, 'ask-approval') === 1);
    const command = {
      name: 'approve' as const,
      repository: sampleRepository(),
      issueNumber: 12,
      commentId: 5,
      actor: 'maintainer',
      text: null,
      createdAt: Date.now() + 60_000,
    };
    await deliver({ kind: 'command', command: { ...command, createdAt: 0 } });
    await until(() => count(calls, 'reply') === 1);
    expect(states.at(-1)).toBe('paused');
    await deliver({ kind: 'command', command });
    await until(() => states.at(-1) === 'listening');
    expect(count(calls, 'plan')).toBe(1);
    expect(count(calls, 'execute')).toBe(2);
  });

  it('stops the work of a cancelled run and reports it', async () => {
    let aborted = false;
    const { deliver, calls, states } = await startEngine({
      plan: (_effect, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted = true;
            reject(new Error('aborted'));
          });
        }),
    });
    await deliver({ kind: 'trigger', trigger: sampleTrigger() });
    await until(() => count(calls, 'plan') === 1);
    const command = {
      name: 'cancel',
      issueNumber: 12,
      commentId: 5,
      actor: 'm',
      text: null,
      createdAt: 1,
    } as const;
    await deliver({ kind: 'command', command: { ...command, repository: sampleRepository() } });
    await until(() => states.at(-1) === 'listening');
    expect(aborted).toBe(true);
    expect(calls.find((call) => call.kind === 'report')?.payload).toMatchObject({
      run: { outcome: 'cancelled' },
    });
    expect(count(calls, 'execute')).toBe(0);
  });

  it('ends a pause that nobody answers after seven days', async () => {
    const { deliver, calls, states, advanceClock } = await startEngine({
      evaluate: async () => HAPPY_ANSWERS.evaluate,
    });
    await deliver({ kind: 'trigger', trigger: sampleTrigger({ outsideText: true }) });
    await until(() => count(calls, 'ask-approval') === 1);
    advanceClock(7 * 86_400_000 - 60_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(states.at(-1)).toBe('paused');
    advanceClock(120_000);
    await until(() => states.at(-1) === 'listening');
    expect(count(calls, 'submit')).toBe(0);
  });

  it('repeats what was in flight when its process died, under the same key, and drops the late answer of the dead one', async () => {
    let answerLate: (event: MachineEvent | null) => void = () => undefined;
    const first = await startEngine({
      execute: () =>
        new Promise((resolve) => {
          answerLate = resolve;
        }),
    });
    await first.deliver({ kind: 'trigger', trigger: sampleTrigger() });
    await until(() => count(first.calls, 'execute') === 1);
    const second = await startEngine({}, first.database);
    await until(() => second.states.at(-1) === 'listening');
    answerLate({ type: 'PATCH_READY', patch: { ...SAMPLE_PATCH, tree: '9'.repeat(40) } });
    const [before] = first.calls.filter((call) => call.kind === 'execute');
    const [after] = second.calls.filter((call) => call.kind === 'execute');
    expect(after?.key).toBe(before?.key);
    expect(after?.attempt).toBe(2);
    const events = await second.database.tx((tx) =>
      tx.all<{ type: string }>("select type from run_event where type = 'PATCH_READY'"),
    );
    expect(events).toHaveLength(1);
    expect(count(second.calls, 'plan')).toBe(0);
    open.splice(
      open.findIndex((entry) => entry.engine === second.engine),
      1,
    );
    await second.engine.stop(50);
  });

  it('makes a draft ready on approval after its run, and keeps the fate of a pull request', async () => {
    const { deliver, calls, states, database } = await startEngine();
    await deliver({ kind: 'trigger', trigger: sampleTrigger() });
    await until(() => states.at(-1) === 'listening');
    const repository = sampleRepository();
    const command = {
      name: 'approve',
      repository,
      issueNumber: 13,
      commentId: 6,
      actor: 'm',
      text: null,
      createdAt: 1,
    } as const;
    await deliver({ kind: 'command', command });
    await until(() => count(calls, 'make-ready') === 1);
    await deliver({ kind: 'pull-request-ended', repository, pullNumber: 13, fate: 'merged', by: 'm' });
    await until(() => count(calls, 'record-fate') === 1);
    expect(await database.tx((tx) => tx.get('select draft, fate from pull_request'))).toEqual({
      draft: 0,
      fate: 'merged',
    });
  });

  it('lets a waiting push be cancelled or run out of time, but never one that is under way', async () => {
    const pace = async () => {
      throw new PeerError({ code: 'PACE_REACHED', message: 'two an hour', retryAfterMs: 60_000 });
    };
    const cancel = {
      name: 'cancel',
      issueNumber: 12,
      commentId: 5,
      actor: 'm',
      text: null,
      createdAt: 1,
    } as const;
    const command = { ...cancel, repository: sampleRepository() };

    const waiting = await startEngine({ submit: pace });
    await waiting.deliver({ kind: 'trigger', trigger: sampleTrigger() });
    await until(() => count(waiting.calls, 'submit') === 1);
    await waiting.deliver({ kind: 'command', command });
    await until(() => waiting.states.at(-1) === 'listening');
    expect(waiting.calls.find((call) => call.kind === 'report')?.payload).toMatchObject({
      run: { outcome: 'cancelled' },
    });

    const overdue = await startEngine({ submit: pace });
    await overdue.deliver({ kind: 'trigger', trigger: sampleTrigger() });
    await until(() => count(overdue.calls, 'submit') === 1);
    overdue.advanceClock(3_600_001);
    await until(() => overdue.states.at(-1) === 'listening');

    let open_: (event: MachineEvent | null) => void = () => undefined;
    const pushing = await startEngine({
      submit: () =>
        new Promise((resolve) => {
          open_ = resolve;
        }),
    });
    await pushing.deliver({ kind: 'trigger', trigger: sampleTrigger() });
    await until(() => count(pushing.calls, 'submit') === 1);
    await pushing.deliver({ kind: 'command', command });
    await until(() => count(pushing.calls, 'reply') === 1);
    pushing.advanceClock(3_600_001);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(pushing.states.at(-1)).toBe('submitting');
    open_(HAPPY_ANSWERS.submit);
    await until(() => pushing.states.at(-1) === 'listening');
    expect(pushing.calls.find((call) => call.kind === 'report')?.payload).toMatchObject({
      run: { outcome: 'pull-request' },
    });
  });
});
