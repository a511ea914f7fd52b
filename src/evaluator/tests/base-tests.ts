/** How the tests of a base commit behave: run twice, so that flaky ones are known by name, and once with planted failures. */
import type { Workspace } from '../../domain/sandbox.js';
import { allSettled } from '../all-settled.js';
import { ownWorkspace } from '../built-workspaces.js';
import type { EvaluationContext } from '../evaluation-context.js';
import { commandEvidence, outcomeOf, succeeded } from '../evidence.js';
import { StepFailed } from '../step-failed.js';
import { type BaseResults, compareBaseRuns } from './compare-results.js';
import { type Planting, plantOnBase } from './planted-test.js';
import { runTests, type TestCommand, type TestMode, type TestRun } from './test-run.js';
import type { TestCounts } from './test-summary.js';

/**
 * `read-only`: they pass where the workspace cannot be written, so that the same workspace can be measured afterwards.
 * `writable`: they need a workspace of their own, thrown away after them.
 */
export interface BaseTests {
  readonly mode: TestMode;
  readonly counts: TestCounts | null;
  /** Null where the runner gives no results per test. */
  readonly results: BaseResults | null;
  readonly planting: Planting;
}

/** Runs the base's tests. Throws StepFailed `TESTS_FAIL_ON_BASE` where no patch can be verified by them. */
export async function testBase(
  context: EvaluationContext,
  built: Workspace,
  command: TestCommand,
): Promise<BaseTests> {
  const { progress, signal } = context.station;
  progress('testing the base');
  const { mode, run: first } = await firstRun(context, built, command);
  const exitsZero = succeeded(first.result);
  const again = async () => {
    if (first.results === null) return null;
    const workspace = mode === 'read-only' ? built : await ownWorkspace(context, 'base', 'base-tests-again');
    return runTests(context, workspace, command, mode, signal);
  };
  progress('testing the base again, and with failing tests planted');
  const normal = { results: first.results, exitsZero };
  const [second, planting] = await allSettled([again(), plantOnBase(context, { command, mode }, normal)]);
  const results =
    first.results === null || second?.results == null ? null : compareBaseRuns(first.results, second.results);
  if (!isUsable(first, results)) throw redBase(command, first);
  return { mode, counts: first.counts, results, planting };
}

/** Read-only where that is enough; where both ways fail, the one in which fewer tests do. */
async function firstRun(
  context: EvaluationContext,
  built: Workspace,
  command: TestCommand,
): Promise<{ readonly mode: TestMode; readonly run: TestRun }> {
  const { signal } = context.station;
  const readOnly = await runTests(context, built, command, 'read-only', signal);
  if (succeeded(readOnly.result)) return { mode: 'read-only', run: readOnly };
  const own = await ownWorkspace(context, 'base', 'base-tests');
  const writable = await runTests(context, own, command, 'writable', signal);
  const better = !succeeded(writable.result) && failures(readOnly) <= failures(writable);
  return better ? { mode: 'read-only', run: readOnly } : { mode: 'writable', run: writable };
}

/** Tests that fail and can be left out by name; infinite where none is named. */
function failures({ result, results }: TestRun): number {
  const failed = (results ?? []).filter(({ outcome }) => outcome === 'failed').length;
  return result.outcome === 'exited' && failed > 0 ? failed : Number.POSITIVE_INFINITY;
}

/** A base that fails is of use only where named tests explain it and another one passes. */
function isUsable(first: TestRun, results: BaseResults | null): boolean {
  if (succeeded(first.result)) return true;
  return results !== null && results.passing.length > 0 && Number.isFinite(failures(first));
}

function redBase({ command }: TestCommand, { result }: TestRun): StepFailed {
  return new StepFailed({
    code: 'TESTS_FAIL_ON_BASE',
    message: `The tests fail on the base commit (the command ${outcomeOf(result)}), so no patch can be verified.`,
    evidence: commandEvidence('Tests on the base', command, result),
  });
}
