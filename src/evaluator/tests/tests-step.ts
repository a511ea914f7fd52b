/** Step 4: what passed on the base must be there and pass on the patch, and failing tests must be seen to fail. */
import type { Workspace } from '../../domain/sandbox.js';
import { allSettled } from '../all-settled.js';
import type { BaseMemory } from '../base-memory.js';
import { ownWorkspace } from '../built-workspaces.js';
import type { EvaluationContext } from '../evaluation-context.js';
import { clipped, commandEvidence, outcomeOf, succeeded } from '../evidence.js';
import { StepFailed } from '../step-failed.js';
import { type BaseTests, testBase } from './base-tests.js';
import { type LostTest, lostTests, unexplainedFailures } from './compare-results.js';
import { plantOnPatch } from './planted-test.js';
import { testCommandText } from './test-command.js';
import { runTests, type TestCommand, type TestMode, type TestRun } from './test-run.js';
import type { TestCounts } from './test-summary.js';

export interface TestsChecked {
  /** For the pull request. */
  readonly summary: string;
  /** What the tests could not show, one sentence each. */
  readonly draftReasons: readonly string[];
  /** In which kind of workspace the tests pass; null where there are none. */
  readonly mode: TestMode | null;
}

const MOST_NAMED = 20;
const MOST_NAMED_LEFT_OUT = 10;

/** Runs the tests of base (unless remembered) and patch in built workspaces. Throws StepFailed. */
export async function checkTests(
  context: EvaluationContext,
  built: { readonly base: Workspace; readonly patch: Workspace },
  memory: BaseMemory<BaseTests>,
): Promise<TestsChecked> {
  const command = context.settings.test;
  if (command === null)
    return { summary: 'The repository has no test command.', draftReasons: [], mode: null };
  const test: TestCommand = { command, text: await testCommandText(context, command) };
  const key = JSON.stringify([context.run, context.baseCommit, command, context.settings.build]);
  const base = memory.get(key) ?? (await testBase(context, built.base, test));
  memory.set(key, base);
  const run = await testPatch(context, built.patch, test, base);
  return { summary: summaryOf(base, run), draftReasons: draftReasonsOf(base), mode: base.mode };
}

/** The tests and the planted ones side by side; a test that fails is told before a planted one that does not. */
async function testPatch(
  context: EvaluationContext,
  built: Workspace,
  command: TestCommand,
  base: BaseTests,
): Promise<TestRun> {
  const { progress, signal } = context.station;
  const { mode } = base;
  progress('testing the patch');
  const test = async () => {
    const workspace = mode === 'read-only' ? built : await ownWorkspace(context, 'patch', 'patch-tests');
    const run = await runTests(context, workspace, command, mode, signal);
    expectGreen(command, base, run);
    return run;
  };
  const [run] = await allSettled([test(), plantOnPatch(context, { command, mode }, base.planting)]);
  return run;
}

function expectGreen({ command }: TestCommand, base: BaseTests, run: TestRun): void {
  const evidence = commandEvidence('Tests on the patch', command, run.result);
  if (base.results === null) {
    if (!succeeded(run.result)) throw testsFailed(run, evidence, []);
    expectSameCounts(base.counts, run.counts, evidence);
    return;
  }
  if (run.results === null) {
    if (!succeeded(run.result)) throw testsFailed(run, evidence, []);
    throw new StepFailed({
      code: 'TEST_REPORT_MISSING',
      message: 'The test runner gives no report on the patch, as it does on the base.',
      evidence,
    });
  }
  const lost = lostTests(base.results, run.results);
  const failing = lost.filter(({ how }) => how === 'fails');
  const unexplained = unexplainedFailures(base.results, run.results);
  const explained = unexplained.length === 0 && run.results.some(({ outcome }) => outcome === 'failed');
  const red = run.result.outcome !== 'exited' || (!succeeded(run.result) && !explained);
  if (failing.length > 0 || red) {
    const names = failing.length > 0 ? failing.map(({ id }) => id) : unexplained;
    throw testsFailed(run, listedEvidence('Tests that fail on the patch', names, evidence), names);
  }
  if (lost.length > 0) throw testsMissing(lost, evidence);
}

function testsFailed(run: TestRun, evidence: string, names: readonly string[]): StepFailed {
  const failed = names.length > 0 ? names.length : (run.counts?.failed ?? 0);
  const counted = failed === 0 ? '' : `, ${failed === 1 ? '1 test fails' : `${failed} tests fail`}`;
  const named = names.length === 0 ? '' : `: ${quoted(names, MOST_NAMED)}`;
  return new StepFailed({
    code: 'TESTS_FAILED',
    message: `The tests fail on the patch: the command ${outcomeOf(run.result)}${counted}${named}.`,
    evidence,
  });
}

function testsMissing(lost: readonly LostTest[], evidence: string): StepFailed {
  const names = lost.slice(0, MOST_NAMED).map(({ id, how }) => `\`${oneLine(id)}\` ${how}`);
  const more = lost.length > MOST_NAMED ? ` and ${lost.length - MOST_NAMED} more` : '';
  const count = lost.length === 1 ? '1 test' : `${lost.length} tests`;
  return new StepFailed({
    code: 'TESTS_MISSING',
    message: `Fewer tests pass on the patch: ${count} of the base did not pass there (${names.join(', ')}${more}).`,
    evidence: listedEvidence('Tests of the base that did not pass on the patch', names, evidence),
  });
}

function listedEvidence(title: string, names: readonly string[], evidence: string): string {
  if (names.length === 0) return evidence;
  return clipped(
    [`${title}:`, ...names.slice(0, MOST_NAMED).map((name) => `- ${name}`), evidence].join('\n'),
  );
}

/** Fewer passing tests than on the base, or a summary that is gone, counts as failed although the command succeeded. */
function expectSameCounts(base: TestCounts | null, patch: TestCounts | null, evidence: string): void {
  if (base === null) return;
  if (patch !== null && patch.failed === 0 && patch.passed >= base.passed) return;
  const now = patch === null ? 'no summary' : `${patch.passed} passed and ${patch.failed} failed`;
  throw new StepFailed({
    code: 'TEST_COUNTS_DROPPED',
    message: `Fewer tests pass on the patch: ${now}, against ${base.passed} passed on the base.`,
    evidence,
  });
}

function summaryOf(base: BaseTests, run: TestRun): string {
  const sentences = [countSentence(base, run)];
  const { flaky = [], failing = [] } = base.results ?? {};
  if (flaky.length > 0)
    sentences.push(`Left out as flaky on the base: ${quoted(flaky, MOST_NAMED_LEFT_OUT)}.`);
  if (failing.length > 0) {
    sentences.push(`Left out as failing on the base: ${quoted(failing, MOST_NAMED_LEFT_OUT)}.`);
  }
  if (base.planting.seenBy !== 'nobody') sentences.push('A planted failing test is seen to fail.');
  return sentences.join(' ');
}

function countSentence({ results, counts }: BaseTests, run: TestRun): string {
  if (results !== null && run.results !== null) {
    const passed = run.results.filter(({ outcome }) => outcome === 'passed').length;
    return `${passed} tests pass on the patch, ${results.passing.length} on the base.`;
  }
  return run.counts === null
    ? 'The tests pass on base and patch.'
    : `${run.counts.passed} tests pass on the patch, ${counts?.passed ?? 0} on the base.`;
}

function draftReasonsOf({ planting }: BaseTests): readonly string[] {
  if (planting.seenBy !== 'nobody') return [];
  return [`The tests could not be checked with a planted failing test: ${planting.why}.`];
}

function quoted(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).map((name) => `\`${oneLine(name)}\``);
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${shown.join(', ')}${more}`;
}

/** A test's name as it can stand between backticks. */
function oneLine(name: string): string {
  return clipped(name.replace(/[\s`]+/g, ' '), 200).replaceAll('\n', ' ');
}
