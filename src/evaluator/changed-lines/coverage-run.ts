/** Runs the tests and the benchmark of a built patch under coverage, each once, in containers of their own. */
import { randomUUID } from 'node:crypto';
import type { CommandResult, Workspace } from '../../domain/sandbox.js';
import { ownWorkspace } from '../built-workspaces.js';
import type { EvaluationContext } from '../evaluation-context.js';
import type { TestMode } from '../tests/test-run.js';
import { executedPath } from '../typescript-module.js';
import {
  ANSWER_BYTES,
  COVERAGE_ARGV,
  type Coverage,
  coverageRequest,
  readCoverage,
  WORKLOADS_ARGV,
  WORKSPACE_ROOT,
} from './coverage-protocol.js';

/** Time for the harness to read what the command left, after the command's own limit. */
const READING_MS = 20_000;

/**
 * Coverage of `files` under the test command; null where there is none: no test command, no Node process, or the tests
 * do not pass under coverage. Read-only first, unless they are known to write: nothing may be written into a workspace
 * that gets measured.
 */
export async function coverageOfTests(
  context: EvaluationContext,
  built: Workspace,
  files: readonly string[],
  mode: TestMode | null,
): Promise<Coverage | null> {
  const { settings } = context;
  if (settings.test === null) return null;
  const command = {
    argv: ['sh', '-c', settings.test],
    stdin: '',
    timeoutMs: settings.timeouts.testMs,
  };
  const readOnly =
    mode === 'writable' ? null : await underCoverage(context, built, { ...command, files }, true);
  if (readOnly?.exitCode === 0) return withProcesses(readOnly);
  const own = await ownWorkspace(context, 'patch', 'patch-coverage');
  const writable = await underCoverage(context, own, { ...command, files }, false);
  return writable?.exitCode === 0 ? withProcesses(writable) : null;
}

/** Coverage of `files` under the workloads of the benchmark, or its command; null where there is none. */
export async function coverageOfBenchmark(
  context: EvaluationContext,
  built: Workspace,
  files: readonly string[],
): Promise<Coverage | null> {
  const { benchmark, settings, options } = context;
  const timeoutMs = benchmark.kind === 'module' ? options.observationTimeoutMs : settings.timeouts.measureMs;
  const at = (path: string) => `${WORKSPACE_ROOT}/${path}`;
  const command =
    benchmark.kind === 'module'
      ? {
          argv: [...WORKLOADS_ARGV],
          stdin: JSON.stringify({ benchmark: at(executedPath(benchmark.path)), entry: at(benchmark.entry) }),
        }
      : { argv: ['sh', '-c', benchmark.source], stdin: '' };
  const coverage = await underCoverage(context, built, { ...command, timeoutMs, files }, true);
  return coverage?.exitCode === 0 ? withProcesses(coverage) : null;
}

interface CoveredCommand {
  readonly argv: readonly string[];
  readonly stdin: string;
  readonly timeoutMs: number;
  readonly files: readonly string[];
}

async function underCoverage(
  context: EvaluationContext,
  workspace: Workspace,
  command: CoveredCommand,
  readOnlyWorkspace: boolean,
): Promise<Coverage | null> {
  const nonce = randomUUID();
  const result: CommandResult = await context.sandbox.run(
    workspace,
    {
      argv: COVERAGE_ARGV,
      stdin: coverageRequest({ nonce, ...command }),
      timeoutMs: command.timeoutMs + READING_MS,
      memoryBytes: context.settings.memoryBytes,
      outputBytes: ANSWER_BYTES,
      readOnlyWorkspace,
    },
    context.station.signal,
  );
  return readCoverage(result, nonce);
}

/** The Node processes may be none at all: then nothing is known of a language that Node does not run. */
function withProcesses(coverage: Coverage): Coverage | null {
  return coverage.processes > 0 ? coverage : null;
}
