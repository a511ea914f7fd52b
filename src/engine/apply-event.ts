/** One event is one transaction: restore, transition, store snapshot, event, effects and timers. */
import type { EffectKind, RunPayload } from '../domain/effect.js';
import type { MachineEvent } from '../domain/event.js';
import type { MachineState, RunRecord } from '../domain/run.js';
import { type Advance, advance, type Intent, stateOf } from '../machine/advance.js';
import type { Transaction } from '../store/database.js';
import { startDeadline, stopDeadlines } from './deadlines.js';
import { cancelWork, intend } from './effect-outbox.js';
import type { HeldRepository } from './leases.js';
import { spentUsd } from './spent.js';

export interface Applied {
  /** False: this event id was applied before, nothing changed. */
  readonly fresh: boolean;
  readonly held: HeldRepository;
  readonly from: MachineState;
  readonly to: MachineState;
  /** The run that ended by this event, as it stood. */
  readonly ended: RunRecord | null;
  /** Keys of effects whose work must stop now. */
  readonly cancelled: readonly string[];
  readonly accepted: boolean;
  /** Dollars booked to the run so far. */
  readonly spentUsd: number;
}

/** Deadlines in milliseconds. */
export interface Deadlines {
  readonly runMs: number;
  readonly pauseMs: number;
  /** A pause ends earlier when another trigger waits. */
  readonly pauseWithWaitingMs: number;
}

const EFFECT_OF: Partial<Record<Intent, EffectKind>> = {
  acknowledge: 'acknowledge',
  prepare: 'prepare',
  plan: 'plan',
  execute: 'execute',
  evaluate: 'evaluate',
  recover: 'recover',
  submit: 'submit',
  updateStatus: 'update-status',
  askApproval: 'ask-approval',
  report: 'report',
  remember: 'remember',
  discard: 'discard',
};

/** Applies an event under the lease. `eventId` makes it happen once. */
export async function applyEvent(
  tx: Transaction,
  held: HeldRepository,
  event: MachineEvent,
  eventId: string,
  at: number,
  deadlines: Deadlines,
): Promise<Applied> {
  const from = stateOf(held.snapshot);
  const seen = await tx.get('select 1 as found from run_event where repository_id = ? and event_id = ?', [
    held.repository.id,
    eventId,
  ]);
  if (seen !== undefined)
    return { fresh: false, held, from, to: from, ended: null, cancelled: [], accepted: false, spentUsd: 0 };

  const rev = held.rev + 1;
  const next = advance(held.snapshot, { ...event, at, rev });
  const run = next.snapshot.context.run ?? held.snapshot.context.run;
  await storeSnapshot(tx, held, next, rev, at);
  await tx.run(
    `insert into run_event (repository_id, rev, event_id, run_id, type, payload, state, fence, at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      held.repository.id,
      rev,
      eventId,
      run?.id ?? null,
      event.type,
      JSON.stringify(event),
      next.state,
      held.fence,
      at,
    ],
  );
  if (event.type === 'RUN_REQUESTED' && next.snapshot.context.run?.id === event.run) {
    await tx.run(
      "insert into run (run_id, repository_id, trigger_id, status, created_at) values (?, ?, ?, 'active', ?)",
      [event.run, held.repository.id, event.trigger.id, at],
    );
  }
  if (event.type === 'PULL_REQUEST_OPENED' && next.accepted && run !== null)
    await keepPullRequest(tx, held, run, event, at);
  const cancelled = await carryOut(tx, held, next, rev, at, deadlines);
  const after: HeldRepository = {
    ...held,
    rev,
    snapshot: next.snapshot,
    runId: next.snapshot.context.run?.id ?? null,
  };
  const ended = next.state === 'listening' && from !== 'listening' ? held.snapshot.context.run : null;
  if (ended !== null) await endRun(tx, ended, at);
  return {
    fresh: true,
    held: after,
    from,
    to: next.state,
    ended,
    cancelled,
    accepted: next.accepted,
    spentUsd: run === null ? 0 : await spentUsd(tx, run.id),
  };
}

async function storeSnapshot(
  tx: Transaction,
  held: HeldRepository,
  next: Advance,
  rev: number,
  at: number,
): Promise<void> {
  const { changes } = await tx.run(
    `update repository set snapshot = ?, state = ?, rev = ?, run_id = ?, updated_at = ?
     where repository_id = ? and rev = ? and fence = ?`,
    [
      JSON.stringify(next.snapshot),
      next.state,
      rev,
      next.snapshot.context.run?.id ?? null,
      at,
      held.repository.id,
      held.rev,
      held.fence,
    ],
  );
  if (changes !== 1) throw new LeaseLostError(held.repository.id);
}

/** Another process took the repository over; whatever was being done is dropped. */
export class LeaseLostError extends Error {
  constructor(repositoryId: string) {
    super(`The lease of repository ${repositoryId} is no longer ours.`);
    this.name = 'LeaseLostError';
  }
}

async function carryOut(
  tx: Transaction,
  held: HeldRepository,
  next: Advance,
  rev: number,
  at: number,
  deadlines: Deadlines,
): Promise<readonly string[]> {
  const run = next.snapshot.context.run;
  if (run === null) return [];
  let cancelled: readonly string[] = [];
  const payload: RunPayload = { run, state: next.state };
  for (const [n, intent] of next.intents.entries()) {
    const kind = EFFECT_OF[intent];
    if (kind !== undefined) {
      const key = `${run.id}.${rev}.${n}.${kind}`;
      await intend(tx, { key, kind, repositoryId: held.repository.id, runId: run.id, rev, n, payload, at });
    } else if (intent === 'cancelWork') {
      cancelled = await cancelWork(tx, run.id, at);
    } else if (intent === 'stopDeadlines') {
      await stopDeadlines(tx, held.repository.id);
    } else if (intent === 'startRunDeadline') {
      await startDeadline(tx, held.repository.id, 'run', rev, at + deadlines.runMs);
    } else if (intent === 'startPauseDeadline') {
      const waiting = await tx.get('select 1 as found from waiting_trigger where repository_id = ?', [
        held.repository.id,
      ]);
      const pauseMs = waiting === undefined ? deadlines.pauseMs : deadlines.pauseWithWaitingMs;
      await startDeadline(tx, held.repository.id, 'pause', rev, at + pauseMs);
    }
  }
  return cancelled;
}

async function keepPullRequest(
  tx: Transaction,
  held: HeldRepository,
  run: RunRecord,
  event: Extract<MachineEvent, { type: 'PULL_REQUEST_OPENED' }>,
  at: number,
): Promise<void> {
  const { submission } = event;
  if (submission.pullNumber === null) return;
  await tx.run(
    `insert into pull_request (repository_id, number, run_id, branch, commit_sha, draft, fate, opened_at)
     values (?, ?, ?, ?, ?, ?, 'open', ?) on conflict (repository_id, number) do nothing`,
    [
      held.repository.id,
      submission.pullNumber,
      run.id,
      submission.branch,
      submission.commit,
      submission.draft ? 1 : 0,
      at,
    ],
  );
}

async function endRun(tx: Transaction, run: RunRecord, at: number): Promise<void> {
  await tx.run("update run set status = 'done', outcome = ?, record = ?, ended_at = ? where run_id = ?", [
    run.outcome,
    JSON.stringify(run),
    at,
    run.id,
  ]);
}
