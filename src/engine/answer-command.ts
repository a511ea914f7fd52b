/** What a person's command does to a repository as it stands: pure, so that every pair of command and state is decided here. */
import type { PersonCommand } from '../domain/delivery.js';
import type { MachineEvent } from '../domain/event.js';
import type { MachineState, RunRecord } from '../domain/run.js';

export interface Situation {
  readonly state: MachineState;
  readonly run: RunRecord | null;
  /** Its pull request may be coming into being right now. */
  readonly isPushing: boolean;
  /** Place in the line of a trigger of this issue, from 1, or null. */
  readonly place: number | null;
  /** A pull request of ours with the command's number. */
  readonly pullRequest: { readonly number: number; readonly draft: boolean; readonly fate: string } | null;
  readonly spentUsd: number;
}

export interface CommandAnswer {
  readonly event: MachineEvent | null;
  /** Comment that answers, or null: the reaction says enough. */
  readonly text: string | null;
  readonly reaction: '+1' | '-1' | 'confused';
  readonly dropsWaiting: boolean;
  /** Number of a draft to make ready. */
  readonly makesReady: number | null;
}

const NOTHING: CommandAnswer = {
  event: null,
  text: null,
  reaction: '+1',
  dropsWaiting: false,
  makesReady: null,
};
const say = (text: string): CommandAnswer => ({ ...NOTHING, text, reaction: 'confused' });

/** Decides a command of a person with write permission. */
export function answerCommand(command: PersonCommand, situation: Situation): CommandAnswer {
  const run = isAbout(command, situation.run) ? situation.run : null;
  switch (command.name) {
    case 'approve':
      return approve(command, situation, run);
    case 'reject':
      return reject(command, situation, run);
    case 'cancel':
      return cancel(command, situation, run);
    case 'status':
      return { ...NOTHING, text: statusText(situation, run) };
  }
}

function isAbout(command: PersonCommand, run: RunRecord | null): boolean {
  if (run === null) return false;
  return command.issueNumber === run.issueNumber || command.issueNumber === run.submission?.pullNumber;
}

function approve(command: PersonCommand, situation: Situation, run: RunRecord | null): CommandAnswer {
  const pause = run?.pause ?? null;
  if (pause !== null) {
    if (!wasShownBefore(pause.since, command.createdAt)) {
      return say(
        'This approval is older than the question that stands now, so it does not count. Read the newest question and approve again.',
      );
    }
    return {
      ...NOTHING,
      event: { type: 'APPROVED', by: command.actor, hint: command.text, pauseRev: pause.rev },
    };
  }
  const pull = situation.pullRequest;
  if (pull !== null && pull.fate === 'open') {
    return pull.draft
      ? { ...NOTHING, makesReady: pull.number }
      : say('This pull request is ready already; merge it or close it.');
  }
  return say('Nothing here waits for an approval.');
}

function reject(command: PersonCommand, situation: Situation, run: RunRecord | null): CommandAnswer {
  const pause = run?.pause ?? null;
  if (pause !== null) {
    if (!wasShownBefore(pause.since, command.createdAt)) {
      return say(
        'This rejection is older than the question that stands now, so it does not count. Read the newest question and reject again.',
      );
    }
    return { ...NOTHING, event: { type: 'REJECTED', by: command.actor, reason: command.text } };
  }
  if (situation.pullRequest?.fate === 'open')
    return say('Close the pull request to reject it; it will not be offered again.');
  return say('Nothing here waits for an answer. `/hasten cancel` stops a run that works.');
}

function cancel(command: PersonCommand, situation: Situation, run: RunRecord | null): CommandAnswer {
  if (run !== null) {
    if (situation.isPushing || situation.state === 'reporting') {
      return say(
        'The run is opening its pull request and can no longer be cancelled; close the pull request instead.',
      );
    }
    return { ...NOTHING, event: { type: 'CANCELLED', by: command.actor } };
  }
  if (situation.place !== null)
    return { ...NOTHING, dropsWaiting: true, text: 'Taken out of the line; no run was started.' };
  return say('No run works on this issue and none waits.');
}

function statusText(situation: Situation, run: RunRecord | null): string {
  if (run !== null) {
    const pause = run.pause === null ? '' : ` It waits for an answer: ${run.pause.detail}`;
    // Unknown until the repository's settings are read.
    const allowed = run.settings === null ? '' : ` of ${run.settings.attempts + run.extraAttempts}`;
    return (
      `Run \`${run.id}\` is **${situation.state}**, attempt ${run.attempt}${allowed}, ` +
      `$${situation.spentUsd.toFixed(4)} spent.${pause}`
    );
  }
  if (situation.place !== null)
    return `A run for this issue waits at place ${situation.place} in the line of this repository.`;
  if (situation.pullRequest !== null) {
    const kind = situation.pullRequest.draft ? 'a draft' : 'ready for review';
    return `This pull request is ${situation.pullRequest.fate} and ${kind}; no run works on it.`;
  }
  return 'No run works on this issue and none waits. The label `hasten` or `/hasten run` starts one.';
}

/** GitHub stamps comments with whole seconds, so the pause counts as shown from the start of its second. */
function wasShownBefore(pausedAt: number, commentedAt: number): boolean {
  return commentedAt >= Math.floor(pausedAt / 1000) * 1000;
}
