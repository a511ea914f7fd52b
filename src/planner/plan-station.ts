/** Planning: looks at the code and the baseline, and answers with a plan and the frozen benchmark, or that nothing is to be gained. */
import { createHash } from 'node:crypto';
import type { Effect, Station, StationContext } from '../domain/effect.js';
import { UserError } from '../domain/errors.js';
import type { MachineEvent } from '../domain/event.js';
import type { Lesson } from '../domain/lesson.js';
import { type Benchmark, benchmarkName, type ModuleBenchmark } from '../domain/plan.js';
import type { BenchmarkSettings } from '../domain/settings.js';
import { createBaseFiles } from './base-files.js';
import { type PlanWithBenchmark, planOf, planWithBenchmarkSchema, reasonSchema } from './plan-shape.js';
import type { PlannerDeps } from './planner-deps.js';
import { openSession, type PlannerSession, talk } from './planner-session.js';
import { planSystem, planTask } from './prompts.js';
import { readTools } from './read-tools.js';
import { defineTool, result, type Tool } from './tool.js';

/** Where a benchmark written in planning is laid over the tree; never part of a patch. */
export const WRITTEN_BENCHMARK_PATH = '.hasten/benchmark.mjs';

type PlanEvent = Extract<MachineEvent, { type: 'PLAN_READY' | 'NOTHING_TO_GAIN' }>;

/** The station of `plan`. Answers PLAN_READY or NOTHING_TO_GAIN. */
export function createPlanStation(deps: PlannerDeps): Station<'plan'> {
  return async (effect, context) => {
    const session = await openSession(deps, effect, context);
    const given = await repositoryBenchmark(deps, effect, session);
    const baseline = given === null ? null : await tryBaseline(deps, effect, context, session, given);
    const entry = session.settings.entry;
    const lessons = await findLessons(deps, effect);
    const { toolResultBytes } = deps.limits;
    const { baseCommit } = session.run.trigger;
    const base = createBaseFiles(deps.mirror, effect.repository, baseCommit, toolResultBytes);
    return talk<PlanEvent>(deps, session, context, {
      system: planSystem(session.settings),
      task: planTask(session.run, { baseline, benchmark: given, entry, lessons }),
      tools: [
        ...readTools(session.shell, toolResultBytes, base),
        finishPlan((fields) => freeze(deps, effect, context, session, given, fields)),
        nothingToGain(),
      ],
    });
  };
}

/** The repository's own benchmark as it stands at the base commit, or null when the settings name none. */
async function repositoryBenchmark(
  deps: PlannerDeps,
  effect: Effect<'plan'>,
  { run, settings }: PlannerSession,
): Promise<Benchmark | null> {
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

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function tryBaseline(
  deps: PlannerDeps,
  effect: Effect<'plan'>,
  context: StationContext,
  session: PlannerSession,
  benchmark: Benchmark,
): Promise<string> {
  context.progress(`tries the benchmark ${benchmarkName(benchmark)} on the base`);
  const trial = await deps.benchmarkTrial(trialOf(effect, session, benchmark), context.signal);
  if (trial.ok) return told(trial.workloads);
  throw new UserError({
    code: 'BENCHMARK_UNUSABLE',
    message: `The benchmark "${benchmarkName(benchmark)}" does not work on the base commit: ${trial.reason}`,
  });
}

function trialOf(effect: Effect<'plan'>, { run, settings }: PlannerSession, benchmark: Benchmark) {
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

async function findLessons(deps: PlannerDeps, effect: Effect<'plan'>): Promise<readonly Lesson[]> {
  const { trigger } = effect.payload.run;
  return deps.ledger.search({
    repositoryId: effect.repository.id,
    text: `${trigger.title}\n${trigger.body}`,
    limit: deps.limits.lessons,
  });
}

type Frozen =
  | { readonly ok: true; readonly benchmark: Benchmark }
  | { readonly ok: false; readonly reason: string };

/** The benchmark that will decide: the repository's, or the model's own after it was seen to work on the base. */
async function freeze(
  deps: PlannerDeps,
  effect: Effect<'plan'>,
  context: StationContext,
  session: PlannerSession,
  given: Benchmark | null,
  fields: PlanWithBenchmark,
): Promise<Frozen> {
  if (given !== null) return { ok: true, benchmark: given };
  if (fields.benchmark === undefined) return { ok: false, reason: 'the field "benchmark" is missing' };
  const entry = session.settings.entry ?? fields.benchmark.entry;
  if (entry === undefined) return { ok: false, reason: 'benchmark.entry must name the module under test' };
  const { baseCommit } = session.run.trigger;
  if ((await deps.mirror.readFile(effect.repository, baseCommit, entry)) === null) {
    return { ok: false, reason: `the module under test "${entry}" is not a file of the base commit` };
  }
  const benchmark = benchmarkOf('hasten', WRITTEN_BENCHMARK_PATH, fields.benchmark.source, entry);
  context.progress('tries the benchmark that the model wrote on the base');
  const trial = await deps.benchmarkTrial(trialOf(effect, session, benchmark), context.signal);
  return trial.ok ? { ok: true, benchmark } : { ok: false, reason: trial.reason };
}

function finishPlan(freezeFor: (fields: PlanWithBenchmark) => Promise<Frozen>): Tool<PlanEvent> {
  let toldOnce = false;
  return defineTool<typeof planWithBenchmarkSchema, PlanEvent>({
    name: 'finish_plan',
    description: 'Ends planning with the structured plan.',
    schema: planWithBenchmarkSchema,
    subject: (input) => input.title,
    run: async (fields) => {
      const frozen = await freezeFor(fields);
      if (frozen.ok) {
        const { benchmark } = frozen;
        return {
          kind: 'finished',
          value: { type: 'PLAN_READY', plan: planOf(fields), benchmark, profile: [] },
        };
      }
      if (toldOnce) throw unusable(frozen.reason);
      toldOnce = true;
      return result(
        `Not accepted: ${withoutPeriod(frozen.reason)}. Correct the benchmark and call finish_plan once more.`,
      );
    },
  });
}

function unusable(reason: string): UserError {
  return new UserError({
    code: 'BENCHMARK_NOT_WRITTEN',
    message:
      'The repository has no benchmark, and the one written in planning does not work on the base commit: ' +
      `${withoutPeriod(reason)}. Set benchmark.module and benchmark.entry in .github/hasten.yml.`,
  });
}

function withoutPeriod(sentence: string): string {
  return sentence.trim().replace(/\.$/, '');
}

function nothingToGain(): Tool<PlanEvent> {
  return defineTool<typeof reasonSchema, PlanEvent>({
    name: 'nothing_to_gain',
    description: "Ends planning: no change of this repository's code would measurably help.",
    schema: reasonSchema,
    run: async ({ reason }) => ({ kind: 'finished', value: { type: 'NOTHING_TO_GAIN', reason } }),
  });
}
