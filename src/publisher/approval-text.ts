/** The comment that asks a person: what happened, what approving does and costs, until when, how to answer. */
import type { RunRecord } from '../domain/run.js';
import { claimSentence, measurementTable } from './evidence.js';
import { dollars, moment } from './figures.js';
import { code, fenced, message, quoted } from './hostile-text.js';
import { assemble } from './marker.js';
import { failuresText } from './status-text.js';

/** GitHub's limit for a whole comment is 65536 characters. */
const MAX_DIFF_CHARS = 40_000;

export interface ApprovalFacts {
  readonly run: RunRecord;
  readonly spentUsd: number;
  /** Key of the effect; the marker. */
  readonly key: string;
}

/** The question's whole body. The run must be paused; otherwise there is nothing to ask and it gives null. */
export function approvalText({ run, spentUsd, key }: ApprovalFacts): string | null {
  const { pause } = run;
  if (pause === null) return null;
  const what = questionOf(run, spentUsd);
  return assemble(
    [
      `**${what.headline}** (run ${code(run.id)})`,
      message(pause.detail, 2000),
      `**Approving** ${what.approving} **Rejecting** ends the run; nothing is pushed.`,
      pause.reason === 'approval' ? diffReview(run) : failuresText(run.attempts),
      howToAnswer(run),
    ],
    key,
  );
}

interface Question {
  readonly headline: string;
  readonly approving: string;
}

function questionOf(run: RunRecord, spentUsd: number): Question {
  const budget = run.settings?.budgetUsd ?? 0;
  const spent = `${dollars(spentUsd)} were spent so far`;
  switch (run.pause?.reason) {
    case 'budget':
      return {
        headline: 'Hasten has used up its budget and waits',
        approving: `lets this run spend up to ${dollars(budget)} more on the model (${spent}); the operator's limits stay.`,
      };
    case 'cycle':
      return {
        headline: 'Hasten goes round in circles and waits',
        approving: `gives it one more attempt (${spent}, the budget stays ${dollars(budget + run.grantedUsd)}). Words after the command reach it as a hint.`,
      };
    default:
      return {
        headline: 'Hasten has a verified patch and asks before it pushes',
        approving: `pushes exactly the diff below to ${code(`hasten/${run.id}`)} and opens a pull request. The push starts this repository's own checks with whatever secrets they have. It costs nothing more (${spent}).`,
      };
  }
}

/** The diff, bounded, and what the gate measured; the model's words are marked as such. */
function diffReview(run: RunRecord): string {
  const { patch, evaluation } = run;
  if (patch === null) return 'There is no patch to show.';
  const changed = patch.files.map((file) => `${code(file.path)} (+${file.additions} −${file.deletions})`);
  const whole = patch.diff.length <= MAX_DIFF_CHARS;
  return [
    evaluation === null ? '' : claimSentence(evaluation.measurement, evaluation.confirmation),
    evaluation === null ? '' : measurementTable(evaluation.measurement),
    `Changed: ${changed.slice(0, 30).join(', ')}${changed.length > 30 ? `, and ${changed.length - 30} more` : ''}`,
    `What the model says about it (its claim, not evidence):\n\n${quoted(patch.summary, 2000)}`,
    `<details><summary>The diff${whole ? '' : ' (too long for a comment: its middle is left out, approving pushes that part unseen)'}</summary>\n\n${fenced(patch.diff, 'diff', MAX_DIFF_CHARS)}\n\n</details>`,
    `sha256 of the whole diff: ${code(patch.digest)}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function howToAnswer(run: RunRecord): string {
  const until = run.pause === null ? '' : moment(run.pause.expiresAt);
  return [
    `Until **${until}** a person with write permission can answer here with one of`,
    '',
    `- ${code('/hasten approve')} (words after it are passed on as a hint)`,
    `- ${code('/hasten reject')} (words after it are kept as the reason)`,
    '',
    `Without an answer the run ends then, or a day after another request waits in this repository. An answer counts for this question only.`,
  ].join('\n');
}

/** The same question as plain lines for a terminal. */
export function approvalLines(run: RunRecord, spentUsd: number): readonly string[] {
  if (run.pause === null) return [];
  const what = questionOf(run, spentUsd);
  return [
    `${what.headline} (run ${run.id}).`,
    run.pause.detail,
    `Approving ${what.approving.replaceAll('`', '')}`,
  ];
}
