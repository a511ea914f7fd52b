/** Recovering: reads why an attempt failed and answers with a changed plan, or that there is no further idea. */
import type { Station } from '../domain/effect.js';
import type { MachineEvent } from '../domain/event.js';
import type { RunRecord } from '../domain/run.js';
import { restoreDiff } from './edited-workspace.js';
import { planOf, planSchema, reasonSchema } from './plan-shape.js';
import type { PlannerDeps } from './planner-deps.js';
import { openSession, talk } from './planner-session.js';
import { recoverSystem, recoverTask } from './prompts.js';
import { readTools } from './read-tools.js';
import { defineTool, type Tool } from './tool.js';

type RecoverEvent = Extract<MachineEvent, { type: 'PLAN_UPDATED' | 'NO_FURTHER_IDEA' }>;

/** The station of `recover`. Answers PLAN_UPDATED or NO_FURTHER_IDEA. */
export function createRecoverStation(deps: PlannerDeps): Station<'recover'> {
  return async (effect, context) => {
    const session = await openSession(deps, effect, context);
    // Executing left its edits in the workspace; the prompt promises the base commit.
    await restoreDiff(session.shell, '');
    const { run } = session;
    return talk<RecoverEvent>(deps, session, context, {
      system: recoverSystem(session.settings),
      task: recoverTask(run, run.benchmark, evidenceOf(run)),
      tools: [...readTools(session.shell, deps.limits.toolResultBytes), updatePlan(), noFurtherIdea()],
    });
  };
}

/** What of the last failure is not among the attempts already: the steps that passed and the measurement. */
function evidenceOf(run: RunRecord): string {
  const failure = run.lastFailure;
  if (failure === null || !('steps' in failure)) return '';
  const steps = failure.steps.map((one) => `${one.step}: ${one.ok ? 'passed' : 'failed'}, ${one.summary}`);
  const measured = failure.measurement?.workloads.map((one) => {
    const interval =
      one.interval === null ? 'none' : `${one.interval[0].toFixed(3)} to ${one.interval[1].toFixed(3)}`;
    return `workload ${one.name}: ${one.verdict}, speed-up ${one.speedup.toFixed(3)} (interval ${interval}, ${one.pairs} pairs)`;
  });
  return [...steps, ...(measured ?? []), failure.measurement?.reason ?? ''].join('\n').trim();
}

function updatePlan(): Tool<RecoverEvent> {
  return defineTool<typeof planSchema, RecoverEvent>({
    name: 'update_plan',
    description: 'Ends recovering with the plan of the next attempt.',
    schema: planSchema,
    subject: (input) => input.title,
    run: async (fields) => ({ kind: 'finished', value: { type: 'PLAN_UPDATED', plan: planOf(fields) } }),
  });
}

function noFurtherIdea(): Tool<RecoverEvent> {
  return defineTool<typeof reasonSchema, RecoverEvent>({
    name: 'no_further_idea',
    description: 'Ends recovering: nothing promising is left to try.',
    schema: reasonSchema,
    run: async ({ reason }) => ({ kind: 'finished', value: { type: 'NO_FURTHER_IDEA', reason } }),
  });
}
