/** Step 5: measurement and confirmation; only a patch that is faster both times passes. */
import { loadavg } from 'node:os';
import {
  METRIC_WORDS,
  type Measurement,
  type Metric,
  type WorkloadMeasurement,
} from '../domain/evaluation.js';
import type { ArmSession, Arms } from './arm-session.js';
import type { EvaluationContext } from './evaluation-context.js';
import { measure } from './measure.js';
import type { ComparedBenchmark } from './observers/compared-benchmark.js';
import { costClause } from './side-costs.js';
import { StepFailed } from './step-failed.js';

/** What of an evaluation a measurement needs. */
export type MeasuringContext = Pick<EvaluationContext, 'settings' | 'options' | 'station'>;

export interface MeasurementPlan {
  /** Arms that are open already, for the first measurement. */
  readonly arms: Arms;
  readonly session: Pick<ArmSession, 'renew'>;
  /** What the same-output check found; the observer works in any arms of the same workspaces. */
  readonly compared: Pick<ComparedBenchmark, 'workloads' | 'observer'>;
  /** Text that the orders are derived from. */
  readonly seed: string;
  readonly environment: Omit<Measurement['environment'], 'load' | 'node'>;
}

/** The first measurement, in the arms that are open. */
export function measureToVerdict(context: MeasuringContext, plan: MeasurementPlan): Promise<Measurement> {
  return measureUntilQuiet(context, plan, plan.arms, 'measure');
}

/**
 * A measurement that its control vetoed says that the machine was noisy, nothing about the patch: it is made again in
 * fresh containers, as often as the options say.
 */
async function measureUntilQuiet(
  context: MeasuringContext,
  plan: MeasurementPlan,
  arms: Arms,
  what: 'measure' | 'confirm',
): Promise<Measurement> {
  let measurement = await measureOnce(context, plan, arms, `${plan.seed}:${what}:0`);
  for (let retry = 1; retry <= context.options.vetoRetries && isVetoed(measurement); retry++) {
    context.station.progress(`measuring again: ${measurement.reason}`);
    const fresh = await plan.session.renew();
    measurement = await measureOnce(context, plan, fresh, `${plan.seed}:${what}:${retry}`);
  }
  return measurement;
}

/** Throws StepFailed unless the measurement says `faster`. */
export function expectFaster(measurement: Measurement): void {
  if (measurement.verdict === 'faster') return;
  throw new StepFailed({
    code: 'NOT_FASTER',
    message: `The verdict is ${measurement.verdict}: ${measurement.reason}`,
    evidence: describeMeasurement(measurement),
    measurement,
  });
}

/** The whole measurement once more in fresh containers and another order; null where the options switch it off. Throws StepFailed when it is not `faster` again. */
export async function confirm(context: MeasuringContext, plan: MeasurementPlan): Promise<Measurement | null> {
  if (!context.options.confirm) return null;
  context.station.progress('confirming in fresh containers');
  const confirmation = await measureUntilQuiet(context, plan, await plan.session.renew(), 'confirm');
  if (confirmation.verdict === 'faster') return confirmation;
  throw new StepFailed({
    code: 'NOT_CONFIRMED',
    message: `A second measurement does not confirm the gain: ${confirmation.verdict}. ${confirmation.reason}`,
    evidence: describeMeasurement(confirmation),
    measurement: confirmation,
  });
}

/** A measurement as lines of text, for evidence and progress. */
export function describeMeasurement(measurement: Measurement): string {
  const head = `Verdict ${measurement.verdict} after ${measurement.runs} processes: ${measurement.reason}`;
  return [head, ...measurement.workloads.map((each) => describeWorkload(each, measurement.metric))].join(
    '\n',
  );
}

function describeWorkload(workload: WorkloadMeasurement, metric: Metric): string {
  const interval =
    workload.interval === null
      ? 'no interval'
      : `${workload.intervalKind} ${workload.interval.map((bound) => `${bound.toFixed(3)}x`).join(' to ')}`;
  return [
    `${workload.name}: ${workload.verdict}, speed-up ${workload.speedup.toFixed(3)}x (${interval}),`,
    `${workload.pairs} pairs, base ${workload.baseMs.toPrecision(4)} ms, patch ${workload.patchMs.toPrecision(4)} ms`,
    `${METRIC_WORDS[metric]} per operation, control ${workload.control.ratio.toFixed(3)}x.`,
    ...workload.costs.filter(({ worse }) => worse).map((cost) => `Worse: ${costClause(cost)}.`),
  ].join(' ');
}

function isVetoed(measurement: Measurement): boolean {
  return measurement.verdict === 'inconclusive' && measurement.workloads.some((each) => each.control.vetoed);
}

function measureOnce(
  context: MeasuringContext,
  plan: MeasurementPlan,
  arms: Arms,
  seed: string,
): Promise<Measurement> {
  const { settings, station } = context;
  return measure({
    arms,
    ...plan.compared,
    minimumEffect: settings.minimumEffect,
    memoryGrowth: settings.memoryGrowth,
    seed,
    timeLimitMs: settings.timeouts.measureMs,
    environment: plan.environment,
    load: () => loadavg()[0] ?? 0,
    now: station.now,
    progress: station.progress,
    signal: station.signal,
  });
}
