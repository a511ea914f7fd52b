/** Last step: the workload that whoever wrote the patch never saw must give the same output and be faster too. */
import { randomUUID } from 'node:crypto';
import type { Measurement } from '../domain/evaluation.js';
import type { HeldBackBenchmark, ModuleBenchmark } from '../domain/plan.js';
import { allSettled } from './all-settled.js';
import type { Arms } from './arm-session.js';
import { heldBackAsBenchmark, putHeldBack } from './held-back-module.js';
import { type MeasurementPlan, type MeasuringContext, measureToVerdict } from './measurement-step.js';
import { checkSameOutput } from './output-step.js';
import { StepFailed } from './step-failed.js';

export interface FrozenHeldBack {
  readonly benchmark: ModuleBenchmark;
  readonly heldBack: HeldBackBenchmark;
}

/**
 * Measures base against patch on the held-back workload, in fresh containers and an order of its own; it comes behind the
 * confirmation, so that nothing but a patch that would pass otherwise costs it. Answers with a verdict `faster`. Throws
 * StepFailed for everything else, with evidence that says nothing about the workload's inputs; `passed` is the
 * measurement to show with it.
 */
export async function measureHeldBack(
  context: MeasuringContext,
  plan: Pick<MeasurementPlan, 'session' | 'seed' | 'environment'>,
  frozen: FrozenHeldBack,
  passed: Measurement,
): Promise<Measurement> {
  context.station.progress('measuring the held-back workload');
  const measured = await withoutInputs(passed, () => measure(context, plan, frozen));
  if (measured.verdict === 'faster') return measured;
  throw notPassed(
    'HELD_BACK_NOT_FASTER',
    `The held-back workload is not faster: ${measured.verdict} (${speedups(measured)}).`,
    passed,
  );
}

async function measure(
  context: MeasuringContext,
  plan: Pick<MeasurementPlan, 'session' | 'seed' | 'environment'>,
  { benchmark, heldBack }: FrozenHeldBack,
): Promise<Measurement> {
  const { station, options, settings } = context;
  const renew = async (): Promise<Arms> => {
    const arms = await plan.session.renew();
    await allSettled([arms.base, arms.patch, arms.copy].map((arm) => putHeldBack(arm, heldBack)));
    return arms;
  };
  const arms = await renew();
  const compared = await checkSameOutput(arms, {
    benchmark: heldBackAsBenchmark(benchmark, heldBack),
    protocol: options.protocol,
    nonce: randomUUID,
    timeoutMs: Math.min(options.observationTimeoutMs, settings.timeouts.measureMs),
  });
  const quiet = { ...context, station: { ...station, progress: () => undefined } };
  const seed = `${plan.seed}:held-back`;
  return measureToVerdict(quiet, { ...plan, arms, session: { renew }, compared, seed });
}

/** Errors of the step without what a process printed: it may hold the inputs. */
async function withoutInputs<T>(passed: Measurement, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    throw notPassed(error.code, MESSAGES[error.code] ?? 'The held-back workload cannot be measured.', passed);
  }
}

const MESSAGES: Readonly<Record<string, string>> = {
  OUTPUT_CHANGED: 'The output of the held-back workload is not the same on the patch.',
  BENCHMARK_FAILED: 'The held-back workload fails.',
  BENCHMARK_GAVE_NO_ANSWER: 'The held-back workload gives no answer.',
  PROCESSES_LEFT_BEHIND: 'The held-back workload left a process running.',
  FIGURE_NOT_BOOKED:
    'The figures of the held-back workload do not agree with the CPU time that the kernel booked.',
};

const EVIDENCE =
  'The same kind of work was done on other inputs than those of the benchmark; they are not shown. A patch must help ' +
  'for every input of the reported kind, not for those of the benchmark alone.';

function notPassed(code: string, message: string, measurement: Measurement): StepFailed {
  return new StepFailed({ code, message, evidence: `${message}\n${EVIDENCE}`, measurement });
}

function speedups({ workloads }: Measurement): string {
  return workloads.map((each) => `${each.speedup.toFixed(2)}x`).join(', ');
}
