/** Step 5: the changed lines are executed by the tests, or compared on generated inputs; the benchmark must reach them too. */
import type { Workspace } from '../../domain/sandbox.js';
import { allSettled } from '../all-settled.js';
import type { EvaluationContext } from '../evaluation-context.js';
import { StepFailed } from '../step-failed.js';
import type { TestMode } from '../tests/test-run.js';
import type { Coverage } from './coverage-protocol.js';
import { coverageOfBenchmark, coverageOfTests } from './coverage-run.js';
import { type Compared, compareOutputs } from './differential.js';
import { inputsOf, modulesOf } from './differential-subject.js';
import { executionOf } from './execution.js';
import { namedLines, type PatchedCode, type PatchedLine, patchedCode } from './patched-code.js';

export interface ChangedLinesChecked {
  /** For the pull request. */
  readonly summary: string;
  /** Which changed lines nothing was seen to execute, one sentence each. */
  readonly draftReasons: readonly string[];
}

type Sides = { readonly base: Workspace; readonly patch: Workspace };

/**
 * `mode`: in which kind of workspace the tests pass, null where there are none.
 * Lines that the tests do not execute never fail a patch: base and patch are compared on generated inputs, and what that
 * does not reach either makes the pull request a draft. Throws StepFailed `BENCHMARK_DOES_NOT_EXECUTE` where the
 * benchmark is known to execute none of the changed lines, `OUTPUT_DIFFERS` where an input is answered differently.
 */
export async function checkChangedLines(
  context: EvaluationContext,
  built: Sides,
  mode: TestMode | null,
): Promise<ChangedLinesChecked> {
  const code = await patchedCode(context);
  const unknown = notKnownReasons(code);
  if (code.lines.length === 0) {
    const summary =
      unknown.length > 0 ? 'No changed line could be followed.' : 'The patch changes no line that executes.';
    return { summary, draftReasons: unknown };
  }
  context.station.progress('looking which changed lines are executed');
  const files = [...new Set(code.lines.map(({ path }) => path))];
  const [tests, benchmark] = await allSettled([
    coverageOfTests(context, built.patch, files, mode),
    coverageOfBenchmark(context, built.patch, files),
  ]);
  expectReached(code, benchmark, context.settings.build !== null);
  const untested = notExecuted(code.lines, tests);
  if (untested.length === 0) {
    return { summary: `The tests execute ${counted(code.lines)}.`, draftReasons: unknown };
  }
  const subject = { files, ...modulesOf(context, files), inputs: await inputsOf(context, files) };
  const compared = await compareOutputs(context, built, subject);
  const unseen = notExecuted(untested, compared.coverage);
  return {
    summary: summaryOf(code.lines, untested, unseen, compared),
    draftReasons: [...unknown, ...doubtfulReasons(compared), ...unseenReasons(unseen)],
  };
}

/** Lines that coverage does not show executed; without coverage all of them. */
function notExecuted(
  lines: readonly PatchedLine[],
  coverage: Pick<Coverage, 'scripts' | 'untraced'> | null,
): readonly PatchedLine[] {
  if (coverage === null) return lines;
  const execution = executionOf(coverage);
  return lines.filter(({ path, line }) => execution.executed(path, line) !== true);
}

/**
 * One line is enough, and one that is not known too: only what is certain refuses. A file that is not loaded may be in
 * what a build made of it, without a map.
 */
function expectReached(code: PatchedCode, benchmark: Coverage | null, isBuilt: boolean): void {
  if (benchmark === null || code.notKnown.length > 0) return;
  const execution = executionOf(benchmark);
  if (isBuilt && code.lines.some(({ path }) => !execution.loaded(path))) return;
  if (code.lines.some(({ path, line }) => execution.executesAny(path, line) !== false)) return;
  throw new StepFailed({
    code: 'BENCHMARK_DOES_NOT_EXECUTE',
    message: `The benchmark does not execute any of the lines that the patch changes (${namedLines(code.lines)}).`,
    evidence:
      'Under coverage, the workloads of the benchmark were run once on the patch. A change that the benchmark does not ' +
      `execute cannot make it faster: ${namedLines(code.lines)}`,
  });
}

function counted(lines: readonly PatchedLine[]): string {
  return lines.length === 1 ? 'the changed line' : `all ${lines.length} changed lines that execute`;
}

function summaryOf(
  lines: readonly PatchedLine[],
  untested: readonly PatchedLine[],
  unseen: readonly PatchedLine[],
  { equal, leftOut, coverage }: Compared,
): string {
  const tested = `The tests execute ${lines.length - untested.length} of ${lines.length} changed lines.`;
  if (coverage === null) return `${tested} Base and patch could not be compared on generated inputs.`;
  const reached = untested.length - unseen.length;
  const without =
    leftOut.length === 0 ? '' : ` (left out, for the base does not repeat itself: ${leftOut.join(', ')})`;
  return `${tested} Base and patch answer ${equal} generated inputs alike, which execute ${reached} more${without}.`;
}

function unseenReasons(unseen: readonly PatchedLine[]): readonly string[] {
  if (unseen.length === 0) return [];
  const what = unseen.length === 1 ? 'One changed line is' : `${unseen.length} changed lines are`;
  return [
    `${what} seen to be executed neither by the tests nor by the comparison on generated inputs: ${namedLines(unseen)}.`,
  ];
}

function doubtfulReasons({ doubtful }: Compared): readonly string[] {
  if (doubtful.length === 0) return [];
  return [
    `Base and patch answer some generated inputs differently, of a kind that no test shows in use: ${doubtful.join(', ')}.`,
  ];
}

function notKnownReasons({ notKnown }: PatchedCode): readonly string[] {
  return notKnown.map(
    ({ path, reason }) => `Whether anything executes the changed lines of ${path} is not known: ${reason}.`,
  );
}
