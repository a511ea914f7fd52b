/** Tries a benchmark on the base for planning: it must load, give the same checksum twice, and run. */
import { randomUUID } from 'node:crypto';
import type { BenchmarkTrial } from '../domain/evaluation.js';
import type { CommandResult, Sandbox, Workspace } from '../domain/sandbox.js';
import { type BuiltWorkspaces, builtBase, createBuiltWorkspaces } from './built-workspaces.js';
import { moduleOf } from './evaluation-context.js';
import {
  type BenchmarkLocation,
  DEFAULT_PROTOCOL,
  harnessArgv,
  harnessRequest,
  type ObservationProtocol,
  readChecksum,
  readObservation,
} from './harness-protocol.js';
import { StepFailed } from './step-failed.js';

export interface BenchmarkTrialDeps {
  readonly sandbox: Sandbox;
  /** Milliseconds of one process of the benchmark; default 60 000. */
  readonly timeoutMs?: number;
  /** Shared with the evaluation, which then need not build the base again; default one of its own. */
  readonly built?: BuiltWorkspaces;
}

export interface BaselineRequest {
  readonly sandbox: Sandbox;
  /** Built, with the benchmark at its path. */
  readonly workspace: Workspace;
  readonly benchmark: BenchmarkLocation;
  readonly memoryBytes: number;
  readonly timeoutMs: number;
  readonly protocol: ObservationProtocol;
  readonly signal: AbortSignal;
}

export interface WorkloadBaseline {
  readonly name: string;
  /** CPU milliseconds per operation, the smallest of the batches of one process. */
  readonly msPerOp: number;
}

/** Makes the port for planning. The trial's workspace is the evaluation's `base`, so its making is not lost. */
export function createBenchmarkTrial(deps: BenchmarkTrialDeps): BenchmarkTrial {
  const built = deps.built ?? createBuiltWorkspaces();
  return async (request, signal) => {
    const { sandbox } = deps;
    const context = { ...request, sandbox };
    const { benchmark, settings } = request;
    try {
      const workspace = await builtBase(context, 'base', built, signal);
      const workloads = await measureBaseline({
        sandbox,
        workspace,
        benchmark: moduleOf(benchmark),
        memoryBytes: settings.memoryBytes,
        timeoutMs: Math.min(deps.timeoutMs ?? 60_000, settings.timeouts.measureMs),
        protocol: DEFAULT_PROTOCOL,
        signal,
      });
      return { ok: true, workloads, profile: [] };
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      return { ok: false, reason: [error.message, error.evidence].join('\n').trim() };
    }
  };
}

/** One observation per workload after two equal checksums, each in a fresh process. Throws StepFailed when the benchmark does not work. */
export async function measureBaseline(request: BaselineRequest): Promise<readonly WorkloadBaseline[]> {
  const { benchmark, protocol } = request;
  const checksum = async () => {
    const nonce = randomUUID();
    return readChecksum(
      await runHarness(request, harnessRequest(benchmark, null, nonce, protocol)),
      nonce,
      'base',
    );
  };
  // Not timed, so that they may run side by side.
  const [first, second] = await Promise.all([checksum(), checksum()]);
  if (first.checksum !== second.checksum) {
    throw new StepFailed({
      code: 'CHECKSUM_NOT_REPEATABLE',
      message:
        'The checksum of the benchmark differs between two runs of the base; it must not depend on chance or time.',
      evidence: `First run: ${first.preview.slice(0, 300)}\nSecond run: ${second.preview.slice(0, 300)}`,
    });
  }
  const baselines: WorkloadBaseline[] = [];
  for (const name of first.workloads) {
    const nonce = randomUUID();
    const result = await runHarness(request, harnessRequest(benchmark, name, nonce, protocol));
    baselines.push({ name, msPerOp: readObservation(result, nonce, 'base').cpuNsPerOp / 1e6 });
  }
  return baselines;
}

function runHarness(request: BaselineRequest, stdin: string): Promise<CommandResult> {
  const { sandbox, workspace, memoryBytes, timeoutMs, signal } = request;
  const command = { argv: harnessArgv(), stdin, timeoutMs, memoryBytes, readOnlyWorkspace: true };
  return sandbox.run(workspace, command, signal);
}
