/** The one status comment of a run while it works: where it stands, what it has cost, what failed. */

import type { RepositoryRef } from '../domain/repository.js';
import type { Attempt, MachineState, RunRecord } from '../domain/run.js';
import { dollars, duration, moment } from './figures.js';
import { code, inline, plainLine, quoted } from './hostile-text.js';
import { assemble, statusKey } from './marker.js';

const MAX_FAILURES_SHOWN = 3;

const DOING: Readonly<Record<MachineState, string>> = {
  listening: 'Done.',
  planning: 'Reading the code in a sandbox and writing a plan.',
  executing: 'Changing the code in a sandbox and building it.',
  evaluating: 'Checking the patch: policy, build, tests, same output, then base and patch measured in turn.',
  recovering: 'Looking at why the last attempt failed.',
  submitting: 'Opening the pull request.',
  reporting: 'Writing the report.',
  paused: 'Waiting for an answer of a person with write permission, see the comment below.',
};

export interface StatusFacts {
  readonly run: RunRecord;
  readonly state: MachineState;
  /** Dollars booked to the run so far. */
  readonly spentUsd: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** The status comment's whole body, marker included. */
export function statusText(facts: StatusFacts): string {
  const { run, state } = facts;
  return assemble(
    [
      `**Hasten is on it** (run ${code(run.id)}): **${state}**`,
      DOING[state],
      factsTable(facts),
      run.plan === null ? null : `**Plan** (the model's words): ${inline(run.plan.title, 300)}`,
      failuresText(run.attempts),
      `Answer with ${code('/hasten status')} or ${code('/hasten cancel')}. This comment is edited as the run goes on.`,
    ],
    statusKey(run.id),
  );
}

function factsTable({ run, state, spentUsd, at }: StatusFacts): string {
  const allowed = run.settings === null ? null : run.settings.attempts + run.extraAttempts;
  const budget = run.settings === null ? null : run.settings.budgetUsd + run.grantedUsd;
  const attempt = allowed === null ? String(run.attempt) : `${Math.min(run.attempt, allowed)} of ${allowed}`;
  return [
    '| | |',
    '| --- | --- |',
    `| State | ${state} |`,
    `| Attempt | ${attempt} |`,
    `| Spent on the model | ${dollars(spentUsd)}${budget === null ? '' : ` of ${dollars(budget)}`} |`,
    `| Base commit | ${code(run.trigger.baseCommit)} |`,
    `| Asked by | ${inline(run.trigger.actor, 80)} |`,
    `| Started | ${moment(run.startedAt)}, ${duration((at - run.startedAt) / 1000)} ago when this was written |`,
  ].join('\n');
}

/** The last failures, newest first, or null when nothing failed. */
export function failuresText(attempts: readonly Attempt[]): string | null {
  if (attempts.length === 0) return null;
  const shown = attempts.slice(-MAX_FAILURES_SHOWN).reverse();
  const lines = shown.map((attempt) => `- Attempt ${attempt.number}: ${inline(attempt.summary, 400)}`);
  const more = attempts.length - shown.length;
  return ['**What failed so far**', '', ...lines, ...(more > 0 ? [`- … and ${more} before that`] : [])].join(
    '\n',
  );
}

/** Title and body of the tracking issue that an alert gets, marker included. */
export function trackingIssueText(
  run: RunRecord,
  repository: RepositoryRef,
  key: string,
): { readonly title: string; readonly body: string } {
  const { trigger } = run;
  return {
    title: plainLine(trigger.title, 200) || 'Performance alert',
    body: assemble(
      [
        `An alert named this repository (${code(`${repository.owner}/${repository.name}`)}) and asks for a faster version.`,
        `- Source: ${inline(trigger.actor, 100)}\n- Received: ${moment(trigger.requestedAt)}\n- Base commit: ${code(trigger.baseCommit)}`,
        `What the alert says:\n\n${quoted(trigger.body, 8000)}`,
      ],
      key,
    ),
  };
}
