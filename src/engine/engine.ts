/** Drives everything that is due: deliveries, deadlines and effects, one event per repository at a time, until told to stop. */
import type { DeliveryReader } from '../domain/delivery.js';
import type { Stations } from '../domain/effect.js';
import { storedError } from '../domain/errors.js';
import type { MachineEvent } from '../domain/event.js';
import type { Log } from '../domain/log.js';
import type { Database, Transaction } from '../store/database.js';
import { type Applied, applyEvent, type Deadlines, LeaseLostError } from './apply-event.js';
import { startNext } from './apply-reading.js';
import { consumeDeadline, type DueDeadline, dueDeadlines } from './deadlines.js';
import { dueDeliveries } from './deliveries.js';
import { dueEffects, isPushing, reopenInflight, unappliedResults } from './effect-outbox.js';
import { handleDelivery } from './handle-delivery.js';
import { LEASE_MS, Leases } from './leases.js';
import { performEffect } from './perform-effect.js';
import { REST_MS, Resting } from './resting.js';

export interface EngineOptions {
  readonly database: Database;
  readonly stations: Stations;
  readonly reader: DeliveryReader;
  readonly log: Log;
  readonly now: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  /** Random per process. */
  readonly owner: string;
  readonly deadlines: Deadlines;
  /** Effects of the work lane and of the tell lane, and deliveries, handled at the same time over all repositories. */
  readonly concurrency: { readonly work: number; readonly tell: number; readonly deliveries: number };
  /** Told of each transition, after its commit. */
  readonly onTransition?: (applied: Applied) => void;
}

/** How often everything due is looked for even if nothing woke the engine, milliseconds. */
const SWEEP_MS = 500;

type Slot = 'work' | 'tell' | 'deliveries';

interface Running {
  readonly slot: Slot;
  readonly run: string | null;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

export class Engine {
  private readonly leases: Leases;
  private readonly running = new Map<string, Running>();
  private readonly resting: Resting;
  private sweep: NodeJS.Timeout | null = null;
  private renewal: NodeJS.Timeout | null = null;
  private pumping: Promise<void> | null = null;
  private again = false;
  private stopping = false;

  constructor(private readonly options: EngineOptions) {
    this.leases = new Leases(options.database, options.owner);
    this.resting = new Resting(options.now);
  }

  /** Takes over what a dead predecessor left and begins to work. */
  async start(): Promise<void> {
    const { database, now } = this.options;
    await this.leases.takeAll(now());
    const unapplied = await database.tx(async (tx) => {
      await reopenInflight(tx, now());
      return unappliedResults(tx);
    });
    for (const row of unapplied) {
      await this.apply(row.repositoryId, JSON.parse(row.result) as MachineEvent, `fx:${row.key}`);
    }
    this.sweep = setInterval(() => this.wake(), SWEEP_MS);
    this.renewal = setInterval(() => void this.renew(), LEASE_MS / 3);
    this.wake();
  }

  /** Looks for due work soon; cheap and safe to call at any time. */
  wake(): void {
    if (this.stopping) return;
    this.again = true;
    this.pumping ??= this.pump().finally(() => {
      this.pumping = null;
      if (this.again && !this.stopping) this.wake();
    });
  }

  /** Takes no new work, lets what runs end for half of the grace period, then parks the rest. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    if (this.sweep !== null) clearInterval(this.sweep);
    await this.pumping;
    const ended = Promise.all([...this.running.values()].map((task) => task.done));
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, graceMs / 2).unref())]);
    for (const task of this.running.values()) task.abort.abort(new Error('The service stops.'));
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, graceMs / 2).unref())]);
    if (this.renewal !== null) clearInterval(this.renewal);
  }

  private async renew(): Promise<void> {
    try {
      await this.leases.renew(this.options.now());
    } catch (error) {
      this.options.log.error({ error: storedError(error) }, 'The leases could not be renewed.');
    }
  }

  private async pump(): Promise<void> {
    while (this.again && !this.stopping) {
      this.again = false;
      try {
        await this.handleDue();
      } catch (error) {
        this.options.log.error(
          { error: storedError(error) },
          'Looking for due work failed; it is tried again.',
        );
        return;
      }
    }
  }

  private async handleDue(): Promise<void> {
    const { database, now, concurrency } = this.options;
    const due = await database.tx(async (tx) => ({
      deadlines: await dueDeadlines(tx, now()),
      deliveries: await dueDeliveries(tx, now(), concurrency.deliveries * 4),
      effects: await dueEffects(tx, now()),
    }));
    for (const deadline of due.deadlines) await this.passDeadline(deadline);
    for (const delivery of due.deliveries) {
      this.spawn({ key: `delivery:${delivery.id}`, slot: 'deliveries', run: null }, async (signal) => {
        const handling = { ...this.options, leases: this.leases };
        for (const applied of await handleDelivery(handling, delivery, signal)) this.announce(applied);
      });
    }
    for (const effect of due.effects) {
      if (effect.kind === 'discard' && this.works(effect.runId)) continue;
      this.spawn({ key: effect.key, slot: effect.lane, run: effect.runId }, (signal) =>
        performEffect(
          {
            ...this.options,
            leases: this.leases,
            apply: (id, event, eventId) => this.apply(id, event, eventId),
          },
          effect,
          signal,
        ),
      );
    }
  }

  /** One deadline that can't be applied must hold up nothing else. */
  private async passDeadline(deadline: DueDeadline): Promise<void> {
    const { name, repositoryId, rev } = deadline;
    const key = `deadline:${repositoryId}:${name}:${rev}`;
    if (this.resting.has(key)) return;
    try {
      const event = { type: 'DEADLINE_PASSED', name } as const;
      await this.apply(repositoryId, event, `tm:${name}:${rev}`, async (tx) => {
        // Half a push is worse than a late end; the deadline stays due until the push has its answer.
        if (await isPushing(tx, repositoryId)) return false;
        await consumeDeadline(tx, deadline);
        return true;
      });
    } catch (error) {
      this.rest(key, error);
    }
  }

  /** Cancelled work still winds down; it could make containers and volumes again that were just removed. */
  private works(runId: string | null): boolean {
    return [...this.running.values()].some((task) => task.slot === 'work' && task.run === runId);
  }

  private rest(key: string, error: unknown): void {
    this.resting.add(key);
    this.options.log.error(
      { key, error: storedError(error), stack: error instanceof Error ? error.stack : undefined },
      `Handling ${key} failed; it is tried again in ${REST_MS / 1000} s.`,
    );
  }

  private spawn(
    { key, slot, run }: { readonly key: string; readonly slot: Slot; readonly run: string | null },
    task: (signal: AbortSignal) => Promise<void>,
  ): void {
    if (this.stopping || this.running.has(key) || this.resting.has(key)) return;
    const busy = [...this.running.values()].filter((running) => running.slot === slot).length;
    if (busy >= this.options.concurrency[slot]) return;
    const abort = new AbortController();
    const done = task(abort.signal)
      .catch((error: unknown) => {
        if (!(error instanceof LeaseLostError) && !abort.signal.aborted) this.rest(key, error);
      })
      .finally(() => {
        this.running.delete(key);
        this.wake();
      });
    this.running.set(key, { slot, run, abort, done });
  }

  /** `goesOn` is asked in the same transaction, and only under the lease; false leaves everything as it is. */
  private async apply(
    repositoryId: string,
    event: MachineEvent,
    eventId: string,
    goesOn: (tx: Transaction) => Promise<boolean> = async () => true,
  ): Promise<Applied | null> {
    const { database, now, deadlines } = this.options;
    const transitions = await database.tx(async (tx) => {
      const held = await this.leases.hold(tx, repositoryId, now());
      if (held === null) return [];
      if (!(await goesOn(tx))) return [];
      const applied = await applyEvent(tx, held, event, eventId, now(), deadlines);
      if (!applied.fresh) return [];
      const next = await startNext({ tx, leases: this.leases, deadlines, at: now() }, applied.held);
      return next === null ? [applied] : [applied, next];
    });
    for (const applied of transitions) this.announce(applied);
    return transitions[0] ?? null;
  }

  private announce(applied: Applied): void {
    for (const key of applied.cancelled)
      this.running.get(key)?.abort.abort(new Error('The run was cancelled.'));
    const run = applied.held.snapshot.context.run ?? applied.ended;
    const { repository } = applied.held;
    this.options.log.info(
      {
        repository: `${repository.owner}/${repository.name}`,
        run: run?.id ?? null,
        transition: { from: applied.from, to: applied.to },
        rev: applied.held.rev,
        outcome: run?.outcome ?? null,
        reason: run?.outcomeReason ?? null,
        pull: run?.submission?.pullNumber ?? null,
        spentUsd: applied.spentUsd,
      },
      `${applied.from} → ${applied.to}`,
    );
    this.options.onTransition?.(applied);
    this.wake();
  }
}
