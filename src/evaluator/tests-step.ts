/** Step 3: the repository's tests, green on the base and as many of them green on the patch. */
import type { CommandResult, Workspace } from '../domain/sandbox.js';
import { buildWorkspace } from './build-step.js';
import { type EvaluationContext, prepareWorkspace, runShell } from './evaluation-context.js';
import { commandEvidence, outcomeOf, succeeded } from './evidence.js';
import { StepFailed } from './step-failed.js';
import { readTestCounts, type TestCounts } from './test-summary.js';

/**
 * How the tests of a base commit behave. `read-only`: they pass where the workspace cannot be written, so that the
 * same workspace can be measured afterwards. `writable`: they need a workspace of their own, thrown away after them.
 */
export interface BaseTests {
  readonly mode: 'read-only' | 'writable';
  readonly counts: TestCounts | null;
}

/** Remembers the base's tests per run, commit and command, so that later attempts do not run them again. */
export interface BaseTestsMemory {
  get(key: string): BaseTests | undefined;
  set(key: string, tests: BaseTests): void;
}

const MOST_REMEMBERED = 100;

/** In memory; the oldest entry goes when there are too many. A restart only runs the base's tests again. */
export function createBaseTestsMemory(): BaseTestsMemory {
  const known = new Map<string, BaseTests>();
  return {
    get: (key) => known.get(key),
    set(key, tests) {
      known.set(key, tests);
      const [oldest] = known.keys();
      if (known.size > MOST_REMEMBERED && oldest !== undefined) known.delete(oldest);
    },
  };
}

/** Runs the tests of base (unless remembered) and patch in built workspaces. One sentence for the pull request; throws StepFailed. */
export async function checkTests(
  context: EvaluationContext,
  built: { readonly base: Workspace; readonly patch: Workspace },
  memory: BaseTestsMemory,
): Promise<string> {
  const command = context.settings.test;
  if (command === null) return 'The repository has no test command.';
  const key = JSON.stringify([context.run, context.baseCommit, command, context.settings.build]);
  const base = memory.get(key) ?? (await testBase(context, built.base, command));
  memory.set(key, base);
  context.station.progress('testing the patch');
  const workspace = base.mode === 'read-only' ? built.patch : await ownWorkspace(context, 'patch');
  const result = await runTests(context, workspace, command, base.mode);
  const evidence = commandEvidence('Tests on the patch', command, result);
  if (!succeeded(result)) {
    const counts = readTestCounts(result.stdout.text + result.stderr.text);
    const failed = counts === null || counts.failed === 0 ? '' : `, ${counts.failed} tests fail`;
    const message = `The tests fail on the patch: the command ${outcomeOf(result)}${failed}.`;
    throw new StepFailed({ code: 'TESTS_FAILED', message, evidence });
  }
  const counts = countsOf(result);
  expectSameCounts(base.counts, counts, evidence);
  return counts === null
    ? 'The tests pass on base and patch.'
    : `${counts.passed} tests pass on the patch, ${base.counts?.passed ?? 0} on the base.`;
}

async function testBase(context: EvaluationContext, built: Workspace, command: string): Promise<BaseTests> {
  context.station.progress('testing the base');
  const readOnly = await runTests(context, built, command, 'read-only');
  if (succeeded(readOnly)) return { mode: 'read-only', counts: countsOf(readOnly) };
  const writable = await runTests(context, await ownWorkspace(context, 'base'), command, 'writable');
  if (succeeded(writable)) return { mode: 'writable', counts: countsOf(writable) };
  throw new StepFailed({
    code: 'TESTS_FAIL_ON_BASE',
    message: `The tests fail on the base commit (the command ${outcomeOf(writable)}), so no patch can be verified.`,
    evidence: commandEvidence('Tests on the base', command, writable),
  });
}

async function ownWorkspace(context: EvaluationContext, side: 'base' | 'patch'): Promise<Workspace> {
  const { signal } = context.station;
  const tree = side === 'base' ? null : context.patch.tree;
  const workspace = await prepareWorkspace(context, `${side}-tests`, tree, signal);
  await buildWorkspace(context, workspace, side, signal);
  return workspace;
}

function runTests(
  context: EvaluationContext,
  workspace: Workspace,
  command: string,
  mode: BaseTests['mode'],
): Promise<CommandResult> {
  const limits = { timeoutMs: context.settings.timeouts.testMs, readOnlyWorkspace: mode === 'read-only' };
  return runShell(context, workspace, command, limits, context.station.signal);
}

function countsOf(result: CommandResult): TestCounts | null {
  return readTestCounts(`${result.stdout.text}\n${result.stderr.text}`);
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
