/** Title, body and commit message of the pull request: the evidence first, the model's words marked as its claim. */
import type { EvaluationPassed } from '../domain/evaluation.js';
import type { Benchmark, Patch, Plan } from '../domain/plan.js';
import type { RunRecord } from '../domain/run.js';
import type { RepositorySettings } from '../domain/settings.js';
import {
  claim,
  claimSentence,
  confirmationText,
  heldBackText,
  measurementNotes,
  measurementTable,
  stepTable,
} from './evidence.js';
import { dollars } from './figures.js';
import { code, fenced, inline, plainLine, quoted } from './hostile-text.js';
import { assemble } from './marker.js';

const MAX_TITLE_CHARS = 100;
const MAX_SUBJECT_CHARS = 72;
const MAX_REPRODUCE_CHARS = 4000;

/** What a finished, passed run brings to a pull request. */
export interface PassedRun {
  readonly run: RunRecord;
  readonly settings: RepositorySettings;
  readonly plan: Plan | null;
  readonly benchmark: Benchmark;
  readonly patch: Patch;
  readonly evaluation: EvaluationPassed;
  /** Dollars booked to the run. */
  readonly spentUsd: number;
}

/** Why the pull request has to be a draft; empty for a ready one. */
export function draftReasons(passed: PassedRun): readonly string[] {
  const reasons = [...passed.evaluation.draftReasons];
  if (passed.settings.approval === 'draft') reasons.push('The settings ask for drafts.');
  if (passed.benchmark.origin === 'hasten' && reasons.length === 0) {
    reasons.push('The benchmark was written by Hasten, not by this repository.');
  }
  return reasons;
}

/** The title: what the plan is called, and the measured lower bound. */
export function pullRequestTitle(passed: PassedRun): string {
  const measured = claim(passed.evaluation.measurement, passed.evaluation.confirmation);
  return `${subject(passed, MAX_TITLE_CHARS)}${measured === null ? '' : ` (${measured})`}`;
}

/** The commit message with the trailer by which the commit is found again. */
export function commitMessage(passed: PassedRun): string {
  const { evaluation, run } = passed;
  const measured = claim(evaluation.measurement, evaluation.confirmation);
  const issue = run.issueNumber === null ? '' : ` for issue ${run.issueNumber}`;
  return [
    subject(passed, MAX_SUBJECT_CHARS),
    '',
    `Measured${issue}: ${measured ?? 'faster'} than ${evaluation.baseCommit.slice(0, 12)},`,
    'with the checks of the repository passing and the same output on its benchmark.',
    '',
    runTrailer(run.id),
  ].join('\n');
}

/** The trailer of a run's commit. */
export function runTrailer(run: string): string {
  return `Hasten-Run: ${run}`;
}

/** True for a commit message whose last line is the run's trailer. */
export function hasRunTrailer(commit: string, run: string): boolean {
  return commit.trimEnd().split('\n').at(-1) === runTrailer(run);
}

/** The body, marker included. */
export function pullRequestBody(passed: PassedRun, key: string): string {
  const { run, evaluation, benchmark } = passed;
  const issue = run.issueNumber === null ? '' : `For #${run.issueNumber}. `;
  return assemble(
    [
      claimSentence(evaluation.measurement, evaluation.confirmation),
      `${issue}Hasten (run ${code(run.id)}) made this patch on ${code(evaluation.baseCommit)} and its gate passed it. Whether it closes the issue is for a maintainer to say, so nothing here closes it.`,
      draftSection(passed),
      `### What and why\n\nThe model's words, a claim and not evidence:\n\n${claimOfModel(passed)}`,
      `### Evidence\n\n${measurementTable(evaluation.measurement)}\n\n${measurementNotes(evaluation.measurement)}\n- ${benchmarkSentence(benchmark)}\n- ${heldBackText(evaluation.heldBack)}`,
      `### Confirmation\n\n${confirmationText(evaluation.confirmation)}`,
      `### Checks\n\n${stepTable(evaluation)}`,
      evaluation.reproduce.length === 0
        ? null
        : `### See for yourself\n\n${fenced(evaluation.reproduce.join('\n'), 'sh', MAX_REPRODUCE_CHARS)}`,
      `<details><summary>Settings of this run</summary>\n\n${fenced(settingsText(passed.settings), 'text', 4000)}\n\n</details>`,
      `Model cost of the run: ${dollars(passed.spentUsd)}. Asked by ${inline(run.trigger.actor, 80)}${run.approvedBy === null ? '' : `, diff approved before the push by ${inline(run.approvedBy, 80)}`}.`,
    ],
    key,
  );
}

function subject(passed: PassedRun, max: number): string {
  const title = plainLine(passed.plan?.title ?? '', max);
  return title === '' ? `Make ${plainLine(nameOf(passed.benchmark), max - 12)} faster` : title;
}

function draftSection(passed: PassedRun): string | null {
  const reasons = draftReasons(passed);
  if (reasons.length === 0) return null;
  const list = reasons.map((reason) => `- ${inline(reason, 400)}`).join('\n');
  return `**This is a draft**\n\n${list}\n\n${code('/hasten approve')} by a person with write permission makes it ready for review.`;
}

function claimOfModel({ plan, patch }: PassedRun): string {
  const parts = [quoted(patch.summary, 3000)];
  if (plan !== null) {
    parts.push(`> Hypothesis: ${inline(plan.hypothesis, 1500)}`, `> Risk: ${inline(plan.risk, 1000)}`);
  }
  return parts.filter((part) => part !== '').join('\n>\n');
}

/** What gets faster, in a word. */
function nameOf(benchmark: Benchmark): string {
  return benchmark.kind === 'module' ? benchmark.entry : benchmark.source;
}

function benchmarkSentence(benchmark: Benchmark): string {
  if (benchmark.kind !== 'module') {
    const figures = benchmark.kind === 'report' ? `; figures out of its ${benchmark.format} report` : '';
    return `Benchmark: this repository's own command ${inline(benchmark.source, 400)}${figures}.`;
  }
  const whose =
    benchmark.origin === 'repository'
      ? `this repository's own ${code(benchmark.path)}, as of the base commit`
      : `written by Hasten (${code(benchmark.path)}) before any patch existed; judge whether it measures what matters`;
  return `Benchmark: ${whose}; it loads ${code(benchmark.entry)}; sha256 ${code(benchmark.sha256)}.`;
}

function benchmarkText(benchmark: RepositorySettings['benchmark']): string {
  if (benchmark === null) return 'none';
  if (benchmark.kind === 'module') return `${benchmark.module} on ${benchmark.entry}`;
  return benchmark.kind === 'command'
    ? benchmark.command
    : `${benchmark.command} (${benchmark.format} report)`;
}

function settingsText(settings: RepositorySettings): string {
  const { benchmark, timeouts } = settings;
  return [
    `from: ${settings.origin === 'file' ? '.github/hasten.yml at the base commit' : 'detected, there is no .github/hasten.yml'}`,
    `install: ${settings.install.command ?? `${settings.install.packageManager} (frozen lockfile)`}`,
    `build: ${settings.build ?? 'none'}`,
    `test: ${settings.test ?? 'none'}`,
    `types: ${settings.checks.types ?? 'none'}`,
    `lint: ${settings.checks.lint ?? 'none'}`,
    `format: ${settings.checks.format ?? 'none'}`,
    `benchmark: ${benchmarkText(benchmark)}`,
    `allow: ${settings.allow.length === 0 ? 'nothing beyond the default policy' : settings.allow.join(', ')}`,
    `attempts: ${settings.attempts}`,
    `minimumEffect: ${settings.minimumEffect}`,
    `memoryGrowth: ${settings.memoryGrowth}`,
    `approval: ${settings.approval}`,
    `budget: ${dollars(settings.budgetUsd)}`,
    `timeouts (s): install ${timeouts.installMs / 1000}, build ${timeouts.buildMs / 1000}, test ${timeouts.testMs / 1000}, measure ${timeouts.measureMs / 1000}`,
    `memory: ${Math.round(settings.memoryBytes / 1024 ** 2)} MiB`,
  ].join('\n');
}

/** Title, summary and text of the check run on the commit. */
export function checkRunOutput(passed: PassedRun): { readonly title: string; readonly summary: string } {
  const { evaluation } = passed;
  return {
    title: plainLine(claim(evaluation.measurement, evaluation.confirmation) ?? 'faster', 120),
    summary: [
      claimSentence(evaluation.measurement, evaluation.confirmation),
      measurementTable(evaluation.measurement),
      stepTable(evaluation),
    ].join('\n\n'),
  };
}
