/** What every step of one evaluation is given: the run's frozen inputs and where its workspaces come from. */
import type { StationContext } from '../domain/effect.js';
import type { Benchmark, Patch } from '../domain/plan.js';
import type { RepositoryRef, SourceMirror } from '../domain/repository.js';
import type { CommandResult, Sandbox, SandboxCommand, Workspace } from '../domain/sandbox.js';
import type { RepositorySettings } from '../domain/settings.js';
import type { ObservationProtocol } from './harness-protocol.js';
import type { PatchLimits } from './patch-policy.js';
import { executedPath, executedSource } from './typescript-module.js';

export interface EvaluateOptions {
  readonly limits: PatchLimits;
  readonly protocol: ObservationProtocol;
  /** Milliseconds of one observation (one process). */
  readonly observationTimeoutMs: number;
  /** How often a measurement that its control vetoed is made again. */
  readonly vetoRetries: number;
  /** Whether a faster patch is measured again in fresh containers. */
  readonly confirm: boolean;
}

export interface EvaluationContext {
  readonly run: string;
  readonly repository: RepositoryRef;
  readonly baseCommit: string;
  readonly settings: RepositorySettings;
  readonly benchmark: Benchmark;
  readonly patch: Patch;
  readonly sandbox: Sandbox;
  readonly mirror: SourceMirror;
  readonly options: EvaluateOptions;
  readonly station: StationContext;
}

/** The parts of a context that a trial of a benchmark has as well, before any patch exists. */
export type BaseContext = Pick<
  EvaluationContext,
  'run' | 'repository' | 'baseCommit' | 'settings' | 'benchmark' | 'sandbox'
>;

/** Workspace with `extra` files and the frozen benchmark laid over the tree; null stands for the base's own. */
export async function prepareWorkspace(
  context: BaseContext,
  name: string,
  tree: string | null,
  signal: AbortSignal,
  extra: ReadonlyMap<string, string> = new Map(),
): Promise<Workspace> {
  const { run, repository, baseCommit, benchmark } = context;
  const overlay = new Map([...extra, ...(await frozenOverlay(benchmark))]);
  const spec = { run, name, repository, baseCommit, tree, install: context.settings.install, overlay };
  return context.sandbox.prepare(spec, signal);
}

/** The frozen files of a benchmark by path, as written. */
export function frozenFiles(benchmark: Benchmark): ReadonlyMap<string, string> {
  return benchmark.kind === 'module' ? new Map([[benchmark.path, benchmark.source]]) : new Map();
}

/** What is laid over every tree: the frozen files, and beside one in TypeScript what runs of it. Throws StepFailed when its types cannot be stripped. */
export async function frozenOverlay(benchmark: Benchmark): Promise<ReadonlyMap<string, string>> {
  if (benchmark.kind !== 'module') return new Map();
  const { path, source } = benchmark;
  return new Map([
    [path, source],
    [executedPath(path), await executedSource(path, source)],
  ]);
}

/** A command of the settings, run by `sh -c` with the settings' limits. */
export function runShell(
  context: BaseContext,
  workspace: Workspace,
  command: string,
  limits: Pick<SandboxCommand, 'timeoutMs' | 'readOnlyWorkspace' | 'outputBytes'>,
  signal: AbortSignal,
): Promise<CommandResult> {
  const argv = ['sh', '-c', command];
  const { memoryBytes } = context.settings;
  return context.sandbox.run(workspace, { argv, memoryBytes, ...limits }, signal);
}
