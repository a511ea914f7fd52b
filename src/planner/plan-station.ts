/** Planning: looks at the code, the baseline and the profile, and answers with a plan and the frozen benchmark, or that nothing is to be gained. */
import type { Effect, Station } from '../domain/effect.js';
import { UserError } from '../domain/errors.js';
import type { MachineEvent } from '../domain/event.js';
import type { Lesson } from '../domain/lesson.js';
import type { Benchmark, HeldBackBenchmark } from '../domain/plan.js';
import { createBaseFiles } from './base-files.js';
import {
  type Planning,
  repositoryBenchmark,
  type TriedBenchmark,
  type Written,
  writtenBenchmarks,
} from './frozen-benchmark.js';
import { type HeldBack, heldBackOfPlan } from './held-back.js';
import { type PlanWithBenchmark, planOf, planWithBenchmarkSchema, reasonSchema } from './plan-shape.js';
import type { PlannerDeps } from './planner-deps.js';
import { openSession, talk } from './planner-session.js';
import { planSystem, planTask } from './prompts.js';
import { readTools } from './read-tools.js';
import { defineTool, result, type Tool } from './tool.js';

type PlanEvent = Extract<MachineEvent, { type: 'PLAN_READY' | 'NOTHING_TO_GAIN' }>;

/** The station of `plan`. Answers PLAN_READY or NOTHING_TO_GAIN. */
export function createPlanStation(deps: PlannerDeps): Station<'plan'> {
  return async (effect, context) => {
    const session = await openSession(deps, effect, context);
    const planning: Planning = { deps, effect, context, session };
    const given = await repositoryBenchmark(planning);
    const lessons = await findLessons(deps, effect);
    const { toolResultBytes } = deps.limits;
    const { baseCommit } = session.run.trigger;
    const base = createBaseFiles(deps.mirror, effect.repository, baseCommit, toolResultBytes);
    return talk<PlanEvent>(deps, session, context, {
      system: planSystem(session.settings),
      task: planTask(session.run, {
        baseline: given?.baseline ?? null,
        benchmark: given?.benchmark ?? null,
        profile: given?.profile ?? [],
        entry: session.settings.entry,
        lessons,
      }),
      tools: [
        ...readTools(session.shell, toolResultBytes, base),
        finishPlan(freezerOf(planning, given)),
        nothingToGain(),
      ],
    });
  };
}

async function findLessons(deps: PlannerDeps, effect: Effect<'plan'>): Promise<readonly Lesson[]> {
  const { trigger } = effect.payload.run;
  return deps.ledger.search({
    repositoryId: effect.repository.id,
    text: `${trigger.title}\n${trigger.body}`,
    limit: deps.limits.lessons,
  });
}

/** What a plan freezes before any patch exists. */
interface Freezer {
  readonly benchmark: (fields: PlanWithBenchmark) => Promise<Written>;
  readonly heldBack: (benchmark: Benchmark, fields: PlanWithBenchmark) => Promise<HeldBack>;
}

/** The repository's benchmark, or the model's own after it was seen to work on the base. */
function freezerOf(planning: Planning, given: TriedBenchmark | null): Freezer {
  const heldBack: Freezer['heldBack'] = (benchmark, fields) => heldBackOfPlan(planning, benchmark, fields);
  if (given === null) return { benchmark: writtenBenchmarks(planning), heldBack };
  const { benchmark, profile } = given;
  return { benchmark: async () => ({ ok: true, benchmark, profile }), heldBack };
}

/** Each of benchmark and held-back workload is told back once; without a benchmark there is no plan, without the other a draft. */
function finishPlan(freezer: Freezer): Tool<PlanEvent> {
  let toldBenchmark = false;
  let toldHeldBack = false;
  return defineTool<typeof planWithBenchmarkSchema, PlanEvent>({
    name: 'finish_plan',
    description: 'Ends planning with the structured plan.',
    schema: planWithBenchmarkSchema,
    subject: (input) => input.title,
    run: async (fields) => {
      const frozen = await freezer.benchmark(fields);
      if (!frozen.ok) {
        if (toldBenchmark) throw unusable(frozen.reason);
        toldBenchmark = true;
        return notAccepted(frozen.reason, 'Correct the benchmark and call finish_plan once more.');
      }
      const heldBack = await freezer.heldBack(frozen.benchmark, fields);
      if (!heldBack.ok && !toldHeldBack) {
        toldHeldBack = true;
        return notAccepted(
          `the held-back workload: ${heldBack.reason}`,
          'Correct it and call finish_plan once more; without one the pull request can only be a draft.',
        );
      }
      const benchmark = withHeldBack(frozen.benchmark, heldBack.ok ? heldBack.heldBack : null);
      const { profile } = frozen;
      return {
        kind: 'finished',
        value: { type: 'PLAN_READY', plan: planOf(fields), benchmark, profile },
      };
    },
  });
}

function withHeldBack(benchmark: Benchmark, heldBack: HeldBackBenchmark | null): Benchmark {
  return benchmark.kind === 'module' ? { ...benchmark, heldBack } : benchmark;
}

function notAccepted(reason: string, next: string) {
  return result(`Not accepted: ${withoutPeriod(reason)}. ${next}`);
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
