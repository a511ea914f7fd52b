/** One run of a repository's tests: the command as it is, with its runner asked for a report per test. */
import { randomUUID } from 'node:crypto';
import type { CommandResult, Workspace } from '../../domain/sandbox.js';
import type { BaseContext } from '../evaluation-context.js';
import { REPORT_OUTPUT_BYTES, unwrapped, wrappedArgv } from './report-wrapper.js';
import { goText } from './results/go.js';
import { readResults } from './results/read-results.js';
import type { TestResult } from './results/test-result.js';
import { readTestCounts, type TestCounts } from './test-summary.js';

/** `read-only`: the workspace cannot be written. */
export type TestMode = 'read-only' | 'writable';

export interface TestCommand {
  readonly command: string;
  /** With the package scripts behind it. */
  readonly text: string;
}

export interface TestRun {
  /** Standard output without the report. */
  readonly result: CommandResult;
  /** Null where no report and no known list came. */
  readonly results: readonly TestResult[] | null;
  readonly counts: TestCounts | null;
}

const HARNESS = '/opt/hasten/harness/test-report';

/** Runs the tests in a built workspace. Throws PeerError when the engine fails. */
export async function runTests(
  context: BaseContext,
  workspace: Workspace,
  { command, text }: TestCommand,
  mode: TestMode,
  signal: AbortSignal,
): Promise<TestRun> {
  const nonce = randomUUID();
  const directory = `/tmp/tests-${randomUUID()}`;
  const result = await context.sandbox.run(
    workspace,
    {
      argv: wrappedArgv(command, directory),
      stdin: `${nonce}\n`,
      env: reportEnvironment(text, directory),
      timeoutMs: context.settings.timeouts.testMs,
      memoryBytes: context.settings.memoryBytes,
      readOnlyWorkspace: mode === 'read-only',
      outputBytes: REPORT_OUTPUT_BYTES,
    },
    signal,
  );
  const { printed, files } = unwrapped(result.stdout.text, nonce);
  const whole = !result.stdout.truncated && !result.stderr.truncated;
  const output = `${printed}\n${result.stderr.text}`;
  const shown = asksGo(text) ? goText(printed) : printed;
  return {
    result: { ...result, stdout: { ...result.stdout, text: shown } },
    results: files === null ? null : readResults(files, whole ? output : null),
    counts: readTestCounts(output),
  };
}

/**
 * Asks by the environment, so that the command stays as it is: vitest, jest, mocha, tap and ava through a preloaded
 * file, node:test by its reporters (unless the repository names some: Node wants a destination for each), pytest and go
 * by variables of their own.
 */
export function reportEnvironment(text: string, directory: string): Readonly<Record<string, string>> {
  const reporters = [
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${HARNESS}/node-reporter.mjs`,
    '--test-reporter-destination=stderr',
  ];
  const options = [`--require=${HARNESS}/ask.cjs`, ...(text.includes('--test-reporter') ? [] : reporters)];
  return {
    HASTEN_TEST_REPORT: directory,
    NODE_OPTIONS: options.join(' '),
    PYTEST_ADDOPTS: `--junitxml=${directory}/pytest.xml -o junit_family=xunit1`,
    ...(asksGo(text) ? { GOFLAGS: '-json' } : {}),
  };
}

/** Other commands of go know the flag too, and print something else then. */
function asksGo(text: string): boolean {
  return /\bgo test\b/.test(text) && !/\bgo (?:list|vet|build|run|install)\b/.test(text);
}
