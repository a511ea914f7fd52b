/** Tries a benchmark on the base for planning: it must load, give the same checksum twice, and run. */
import { randomUUID } from 'node:crypto';
import type { BenchmarkTrial } from '../domain/evaluation.js';
import type { Benchmark, HotFunction } from '../domain/plan.js';
import type { CommandResult, Sandbox, Workspace } from '../domain/sandbox.js';
import { createBaseMemory } from './base-memory.js';
import { type BuiltWorkspaces, builtBase } from './built-workspaces.js';
import {
  type BenchmarkLocation,
  DEFAULT_PROTOCOL,
  HARNESS_ARGV,
  harnessRequest,
  type ObservationProtocol,
  readChecksum,
  readObservation,
} from './harness-protocol.js';
import { observedArm } from './observers/benchmark-observer.js';
import { createOneOffArm } from './one-off-arm.js';
import { checkSameOutput } from './output-step.js';
import { PROFILE_ARGV, profileRequest, readProfile } from './profile.js';
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
  readonly benchmark: Benchmark;
  readonly memoryBytes: number;
  readonly timeoutMs: number;
  readonly protocol: ObservationProtocol;
  readonly signal: AbortSignal;
}

export interface WorkloadBaseline {
  readonly name: string;
  /** Milliseconds per operation in the benchmark's metric, the smallest of one process. */
  readonly msPerOp: number;
}

/** Makes the port for planning. The trial's workspace is the evaluation's `base`, so its making is not lost. */
export function createBenchmarkTrial(deps: BenchmarkTrialDeps): BenchmarkTrial {
  const built = deps.built ?? createBaseMemory<true>();
  return async (request, signal) => {
    const { sandbox } = deps;
    const context = { ...request, sandbox };
    const { benchmark, settings } = request;
    try {
      const workspace = await builtBase(context, 'base', built, signal);
      const baseline: BaselineRequest = {
        sandbox,
        workspace,
        benchmark,
        memoryBytes: settings.memoryBytes,
        timeoutMs: Math.min(deps.timeoutMs ?? 60_000, settings.timeouts.measureMs),
        protocol: DEFAULT_PROTOCOL,
        signal,
      };
      const workloads = await measureBaseline(baseline);
      return { ok: true, workloads, profile: await profileOf(baseline) };
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      return { ok: false, reason: [error.message, error.evidence].join('\n').trim() };
    }
  };
}

/** Empty for commands: what they start need not be Node. */
async function profileOf(request: BaselineRequest): Promise<readonly HotFunction[]> {
  const { sandbox, workspace, benchmark, memoryBytes, timeoutMs, signal } = request;
  if (benchmark.kind !== 'module') return [];
  const nonce = randomUUID();
  const stdin = profileRequest(benchmark, nonce);
  const command = { argv: PROFILE_ARGV, stdin, timeoutMs, memoryBytes, readOnlyWorkspace: true };
  return readProfile(await sandbox.run(workspace, command, signal), nonce);
}

/**
 * One observation per workload after runs that show that the base gives the same output again, each in a fresh process.
 * Throws StepFailed when the benchmark does not work.
 */
export async function measureBaseline(request: BaselineRequest): Promise<readonly WorkloadBaseline[]> {
  const { benchmark } = request;
  return benchmark.kind === 'module' ? moduleBaseline(request, benchmark) : otherBaseline(request);
}

async function otherBaseline(request: BaselineRequest): Promise<readonly WorkloadBaseline[]> {
  const { sandbox, workspace, benchmark, timeoutMs, memoryBytes, signal } = request;
  const arm = createOneOffArm(sandbox, workspace, { memoryBytes }, signal);
  const arms = { base: arm, copy: arm, patch: arm };
  const { workloads, observer } = await checkSameOutput(arms, { benchmark, nonce: randomUUID, timeoutMs });
  const baselines: WorkloadBaseline[] = [];
  for (const group of observer.groups(workloads)) {
    const { samples } = await observer.observe(await observedArm('base', arm), group);
    for (const [name, { msPerOp }] of samples) baselines.push({ name, msPerOp });
  }
  return baselines;
}

async function moduleBaseline(
  request: BaselineRequest,
  benchmark: BenchmarkLocation,
): Promise<readonly WorkloadBaseline[]> {
  const { protocol } = request;
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
  const command = { argv: HARNESS_ARGV, stdin, timeoutMs, memoryBytes, readOnlyWorkspace: true };
  return sandbox.run(workspace, command, signal);
}
