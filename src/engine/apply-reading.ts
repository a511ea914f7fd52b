/** Turns what a delivery means into machine events and effects, in the transaction that marks the delivery as applied. */
import type { Delivery, PersonCommand, Reading } from '../domain/delivery.js';
import type { ReplyPayload } from '../domain/effect.js';
import type { RepositoryRef } from '../domain/repository.js';
import type { Trigger } from '../domain/trigger.js';
import { stateOf } from '../machine/advance.js';
import type { Transaction } from '../store/database.js';
import { answerCommand, type CommandAnswer } from './answer-command.js';
import { type Applied, applyEvent, type Deadlines } from './apply-event.js';
import { hastenPause } from './deadlines.js';
import { intend, isPushing } from './effect-outbox.js';
import type { HeldRepository, Leases } from './leases.js';
import { runIdOf } from './run-id.js';
import { spentUsd } from './spent.js';
import { admitTrigger, dropWaiting, placeOf, takeWaiting } from './waiting-triggers.js';

export interface Applying {
  readonly tx: Transaction;
  readonly leases: Leases;
  readonly deadlines: Deadlines;
  readonly at: number;
}

/** Applies one reading; returns the transitions it caused. `null`: another process holds the repository, try later. */
export async function applyReading(
  applying: Applying,
  delivery: Delivery,
  reading: Reading,
): Promise<readonly Applied[] | null> {
  if (reading.kind === 'ignored') return [];
  const repository = repositoryOf(reading);
  await applying.leases.introduce(applying.tx, repository, applying.at);
  const held = await applying.leases.hold(applying.tx, repository.id, applying.at);
  if (held === null) return null;
  switch (reading.kind) {
    case 'reply':
      await reply(applying, held, delivery.id, {
        issueNumber: reading.issueNumber,
        text: reading.text,
        reaction: null,
      });
      return [];
    case 'trigger':
      return admit(applying, held, delivery, reading.trigger);
    case 'command':
      return obey(applying, held, delivery, reading.command);
    case 'pull-request-ended':
      await endPullRequest(applying, held, delivery, reading.pullNumber, reading.fate);
      return [];
  }
}

function repositoryOf(reading: Exclude<Reading, { kind: 'ignored' }>): RepositoryRef {
  if (reading.kind === 'trigger') return reading.trigger.repository;
  if (reading.kind === 'command') return reading.command.repository;
  return reading.repository;
}

/** Starts the next waiting trigger of a listening repository. */
export async function startNext(applying: Applying, held: HeldRepository): Promise<Applied | null> {
  if (stateOf(held.snapshot) !== 'listening') return null;
  const trigger = await takeWaiting(applying.tx, held.repository.id);
  if (trigger === null) return null;
  const event = { type: 'RUN_REQUESTED', run: runIdOf(trigger.id), trigger } as const;
  return applyEvent(applying.tx, held, event, `tr:${trigger.id}`, applying.at, applying.deadlines);
}

async function admit(
  applying: Applying,
  held: HeldRepository,
  delivery: Delivery,
  trigger: Trigger,
): Promise<readonly Applied[]> {
  const admission = await admitTrigger(applying.tx, held, trigger);
  const tell = async (text: string): Promise<void> => {
    if (trigger.issueNumber === null) return;
    await reply(applying, held, delivery.id, { issueNumber: trigger.issueNumber, text, reaction: null });
  };
  if (admission.outcome === 'refused') {
    await tell(
      `${admission.limit} triggers wait for this repository already, so this one was not taken. Ask again when the line is shorter.`,
    );
  }
  // A label put on twice needs no answer; who writes a command expects one.
  if (admission.outcome === 'collapsed' && trigger.source === 'command') {
    await tell(
      `A run for this issue ${admission.running ? 'works' : 'waits'} already, so no other one was taken. \`/hasten status\` tells where it stands.`,
    );
  }
  if (admission.outcome !== 'waiting') return [];
  const started = await startNext(applying, held);
  if (started !== null) return [started];
  if (stateOf(held.snapshot) === 'paused') {
    await hastenPause(applying.tx, held.repository.id, applying.at + applying.deadlines.pauseWithWaitingMs);
  }
  await tell(
    `Another run works on this repository. This one waits at place ${admission.place} and starts by itself.`,
  );
  return [];
}

async function obey(
  applying: Applying,
  held: HeldRepository,
  delivery: Delivery,
  command: PersonCommand,
): Promise<readonly Applied[]> {
  const { tx, at } = applying;
  const run = held.snapshot.context.run;
  const answer = answerCommand(command, {
    state: stateOf(held.snapshot),
    run,
    isPushing: await isPushing(tx, held.repository.id),
    place: await placeOf(tx, held.repository.id, command.issueNumber),
    pullRequest: await pullRequestOf(tx, held.repository.id, command.issueNumber),
    spentUsd: run === null ? 0 : await spentUsd(tx, run.id),
  });
  if (answer.dropsWaiting) await dropWaiting(tx, held.repository.id, command.issueNumber);
  await reply(applying, held, delivery.id, {
    issueNumber: command.issueNumber,
    text: answer.text,
    reaction: { commentId: command.commentId, content: answer.reaction },
  });
  if (answer.makesReady !== null) await makeReady(applying, held, delivery, command, answer.makesReady);
  if (answer.event === null) return [];
  await keepDecision(tx, held, command, answer, at);
  return [await applyEvent(tx, held, answer.event, `gh:${delivery.id}`, at, applying.deadlines)];
}

async function makeReady(
  applying: Applying,
  held: HeldRepository,
  delivery: Delivery,
  command: PersonCommand,
  pullNumber: number,
): Promise<void> {
  const { tx, at } = applying;
  await tx.run('update pull_request set draft = 0 where repository_id = ? and number = ?', [
    held.repository.id,
    pullNumber,
  ]);
  await intend(tx, {
    key: `d.${delivery.id}.make-ready`,
    kind: 'make-ready',
    repositoryId: held.repository.id,
    runId: null,
    rev: held.rev,
    n: 1001,
    payload: { pullNumber, approvedBy: command.actor },
    at,
  });
}

async function keepDecision(
  tx: Transaction,
  held: HeldRepository,
  command: PersonCommand,
  answer: CommandAnswer,
  at: number,
): Promise<void> {
  const run = held.snapshot.context.run;
  if (run === null || answer.event === null) return;
  await tx.run(
    `insert into decision (repository_id, run_id, rev, decision, decided_by, decided_at, comment_id)
     values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
    [
      held.repository.id,
      run.id,
      run.pause?.rev ?? held.rev,
      answer.event.type,
      command.actor,
      at,
      command.commentId,
    ],
  );
}

async function reply(
  applying: Applying,
  held: HeldRepository,
  deliveryId: string,
  payload: ReplyPayload,
): Promise<void> {
  await intend(applying.tx, {
    key: `d.${deliveryId}.reply`,
    kind: 'reply',
    repositoryId: held.repository.id,
    runId: null,
    rev: held.rev,
    n: 1000,
    payload,
    at: applying.at,
  });
}

async function endPullRequest(
  applying: Applying,
  held: HeldRepository,
  delivery: Delivery,
  pullNumber: number,
  fate: 'merged' | 'closed',
): Promise<void> {
  const { tx, at } = applying;
  const row = await tx.get<{ run_id: string }>(
    'select run_id from pull_request where repository_id = ? and number = ?',
    [held.repository.id, pullNumber],
  );
  if (row === undefined) return;
  await tx.run('update pull_request set fate = ? where repository_id = ? and number = ?', [
    fate,
    held.repository.id,
    pullNumber,
  ]);
  await intend(tx, {
    key: `d.${delivery.id}.record-fate`,
    kind: 'record-fate',
    repositoryId: held.repository.id,
    runId: null,
    rev: held.rev,
    n: 1002,
    payload: { run: row.run_id, fate },
    at,
  });
}

async function pullRequestOf(
  tx: Transaction,
  repositoryId: string,
  number: number,
): Promise<{ number: number; draft: boolean; fate: string } | null> {
  const row = await tx.get<{ number: number; draft: number; fate: string }>(
    'select number, draft, fate from pull_request where repository_id = ? and number = ?',
    [repositoryId, number],
  );
  return row === undefined ? null : { number: row.number, draft: row.draft === 1, fate: row.fate };
}
