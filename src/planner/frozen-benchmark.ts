/** The benchmark that will decide, frozen before any patch exists: the repository's own, or the model's after a trial on the base. */
import { createHash } from 'node:crypto';
import type { Effect, StationContext } from '../domain/effect.js';
import { UserError } from '../domain/errors.js';
import { type Benchmark, benchmarkName, type HotFunction, type ModuleBenchmark } from '../domain/plan.js';
import type { BenchmarkSettings } from '../domain/settings.js';
import type { PlanWithBenchmark } from './plan-shape.js';
import type { PlannerDeps } from './planner-deps.js';
import type { PlannerSession } from './planner-session.js';

/** Where a benchmark written in planning is laid over the tree; never part of a patch. */
export const WRITTEN_BENCHMARK_PATH = '.hasten/benchmark.mjs';

/** What planning has at hand while it freezes something. */
export interface Planning {
  readonly deps: PlannerDeps;
  readonly effect: Effect<'plan'>;
  readonly context: StationContext;
  readonly session: PlannerSession;
}

/** A benchmark that works on the base. */
export interface TriedBenchmark {
  readonly benchmark: Benchmark;
  readonly profile: readonly HotFunction[];
}

/** The repository's own benchmark with what it says about the base, or null when the settings name none. Throws UserError when it does not work. */
export async function repositoryBenchmark(
  planning: Planning,
): Promise<(TriedBenchmark & { readonly baseline: string }) | null> {
  const { deps, context } = planning;
  const benchmark = await benchmarkOfSettings(planning);
  if (benchmark === null) return null;
  const name = benchmarkName(benchmark);
  context.progress(`tries the benchmark ${name} on the base`);
  const trial = await deps.benchmarkTrial(trialOf(planning, benchmark), context.signal);
  if (trial.ok) return { benchmark, profile: trial.profile, baseline: told(trial.workloads) };
  throw new UserError({
    code: 'BENCHMARK_UNUSABLE',
    message: `The benchmark "${name}" does not work on the base commit: ${trial.reason}`,
  });
}

/** As it stands at the base commit. */
async function benchmarkOfSettings({ deps, effect, session }: Planning): Promise<Benchmark | null> {
  const { run, settings } = session;
  if (settings.benchmark === null) return null;
  if (settings.benchmark.kind !== 'module') return commandBenchmark(settings.benchmark);
  const { module, entry } = settings.benchmark;
  const source = await deps.mirror.readFile(effect.repository, run.trigger.baseCommit, module);
  if (source === null) {
    throw new UserError({
      code: 'BENCHMARK_NOT_FOUND',
      message: `The settings name the benchmark "${module}", but commit ${run.trigger.baseCommit} has no such file.`,
    });
  }
  return benchmarkOf('repository', module, source.toString('utf8'), entry);
}

function benchmarkOf(
  origin: Benchmark['origin'],
  path: string,
  source: string,
  entry: string,
): ModuleBenchmark {
  return { kind: 'module', origin, path, source, sha256: sha256(source), entry, heldBack: null };
}

function commandBenchmark(settings: Exclude<BenchmarkSettings, { kind: 'module' }>): Benchmark {
  const { command: source } = settings;
  const frozen = { origin: 'repository', source, sha256: sha256(source) } as const;
  if (settings.kind === 'command') return { kind: 'command', ...frozen };
  return { kind: 'report', ...frozen, format: settings.format, file: settings.file };
}

/** sha256 hex of a text. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** What the ports that try something on the base ask for. */
export function trialOf<B extends Benchmark>({ effect, session }: Planning, benchmark: B) {
  const { run, settings } = session;
  return {
    run: run.id,
    repository: effect.repository,
    baseCommit: run.trigger.baseCommit,
    settings,
    benchmark,
  };
}

function told(workloads: readonly { readonly name: string; readonly msPerOp: number }[]): string {
  const lines = workloads.map(
    (one) => `- ${one.name}: ${one.msPerOp.toPrecision(4)} ms of CPU per operation`,
  );
  return ['Measured on the base commit (a trial, not yet the evidence of the gate):', ...lines].join('\n');
}

/** A benchmark or why there is none, in a clause for its author. */
export type Written =
  | ({ readonly ok: true } & TriedBenchmark)
  | { readonly ok: false; readonly reason: string };

/** The benchmark that the model wrote, tried on the base; the same text is tried once. */
export function writtenBenchmarks(planning: Planning): (fields: PlanWithBenchmark) => Promise<Written> {
  const { deps, effect, context, session } = planning;
  const tried = new Map<string, Written>();
  return async (fields) => {
    if (fields.benchmark === undefined) return { ok: false, reason: 'the field "benchmark" is missing' };
    const entry = session.settings.entry ?? fields.benchmark.entry;
    if (entry === undefined) return { ok: false, reason: 'benchmark.entry must name the module under test' };
    const benchmark = benchmarkOf('hasten', WRITTEN_BENCHMARK_PATH, fields.benchmark.source, entry);
    const key = JSON.stringify([benchmark.sha256, entry]);
    const known = tried.get(key);
    if (known !== undefined) return known;
    const { baseCommit } = session.run.trigger;
    if ((await deps.mirror.readFile(effect.repository, baseCommit, entry)) === null) {
      return { ok: false, reason: `the module under test "${entry}" is not a file of the base commit` };
    }
    context.progress('tries the benchmark that the model wrote on the base');
    const trial = await deps.benchmarkTrial(trialOf(planning, benchmark), context.signal);
    const written: Written = trial.ok ? { ok: true, benchmark, profile: trial.profile } : trial;
    if (trial.ok) tried.set(key, written);
    return written;
  };
}
