/** The measurement: base, patch and a copy of base as interleaved fresh processes, looked at until the rule decides. */
import { BugError } from '../domain/errors.js';
import type { Measurement, Verdict, WorkloadMeasurement } from '../domain/evaluation.js';
import type { MeasurementArm } from '../domain/sandbox.js';
import { CONTROL_BLOCKS, combineVerdicts, LOOKS } from './gate-rule.js';
import type { BenchmarkLocation, ObservationAnswer, ObservationProtocol } from './harness-protocol.js';
import { type ArmName, type ObservedArm, observe } from './observation.js';
import { seededRandom, shuffled } from './seeded-random.js';
import { createWorkloadSeries, type WorkloadSeries } from './workload-series.js';

export interface MeasureRequest {
  /** Open arms; `copy` holds the same files as `base`. Nothing else runs on their CPUs. */
  readonly arms: Readonly<Record<ArmName, MeasurementArm>>;
  readonly benchmark: BenchmarkLocation;
  /** Names that the benchmark announced, at least one. */
  readonly workloads: readonly string[];
  /** 0.05 = 5 %. */
  readonly minimumEffect: number;
  readonly protocol: ObservationProtocol;
  /** Seed of the order. */
  readonly seed: string;
  /** Unpredictable text per observation. */
  readonly nonce: () => string;
  readonly observationTimeoutMs: number;
  /** No further block is begun after it. */
  readonly timeLimitMs: number;
  readonly environment: Omit<Measurement['environment'], 'load' | 'node'>;
  /** 1-minute load average of the host. */
  readonly load: () => number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

const MOST_PAIRS = LOOKS[LOOKS.length - 1] ?? 0;

/**
 * Measures until every workload is decided, one is slower, or the time is up. Throws StepFailed when an observation
 * cannot be used, PeerError when the engine fails. Several workloads: level of `faster` divided by their number
 * (Bonferroni); one that is slower decides.
 */
export async function measure(request: MeasureRequest): Promise<Measurement> {
  const started = request.now();
  const loadBefore = request.load();
  const rule = { minimumEffect: request.minimumEffect, comparisons: request.workloads.length };
  const series = request.workloads.map((name) => createWorkloadSeries(name, rule));
  const runner = await createBlockRunner(request);
  for (let block = 0; block < MOST_PAIRS && !isOver(request, started, series); block++) {
    for (const each of series.filter((one) => one.verdict() === null)) {
      each.add(await runner.run(each.name, block < CONTROL_BLOCKS));
      request.progress(progressLine(each));
    }
  }
  const workloads = series.map((each) => each.report());
  const verdict = combineVerdicts(workloads.map((each) => each.verdict));
  return {
    verdict,
    metric: 'cpu-time',
    minimumEffect: request.minimumEffect,
    workloads,
    runs: runner.runs(),
    seconds: (request.now() - started) / 1000,
    seed: request.seed,
    environment: { ...request.environment, node: runner.node(), load: [loadBefore, request.load()] },
    reason: reasonOf(verdict, series, workloads, request.minimumEffect),
  };
}

function isOver(request: MeasureRequest, started: number, series: readonly WorkloadSeries[]): boolean {
  request.signal.throwIfAborted();
  if (request.now() - started > request.timeLimitMs) return true;
  const verdicts = series.map((each) => each.verdict());
  return verdicts.includes('slower') || !verdicts.includes(null);
}

async function createBlockRunner(request: MeasureRequest) {
  const random = seededRandom(request.seed);
  const observedArm = async (name: ArmName): Promise<ObservedArm> => {
    const arm = request.arms[name];
    return { name, arm, bookedUs: await arm.cpuMicros() };
  };
  const base = await observedArm('base');
  const patch = await observedArm('patch');
  const copy = await observedArm('copy');
  let runs = 0;
  let node = '';

  const one = async (arm: ObservedArm, workload: string): Promise<ObservationAnswer> => {
    request.signal.throwIfAborted();
    const answer = await observe(arm, {
      benchmark: request.benchmark,
      workload,
      nonce: request.nonce(),
      protocol: request.protocol,
      timeoutMs: request.observationTimeoutMs,
    });
    runs++;
    node = answer.node;
    return answer;
  };

  return {
    runs: () => runs,
    node: () => node,
    /** One block of one workload in random order. */
    run: async (workload: string, withControl: boolean) => {
      const answers = new Map<ObservedArm, ObservationAnswer>();
      const arms = withControl ? [base, patch, copy] : [base, patch];
      for (const arm of shuffled(arms, random)) answers.set(arm, await one(arm, workload));
      return {
        base: answers.get(base) ?? missing(),
        patch: answers.get(patch) ?? missing(),
        copy: answers.get(copy) ?? null,
      };
    },
  };
}

function missing(): never {
  throw new BugError({ code: 'BLOCK_INCOMPLETE', message: 'every arm of a block is observed once' });
}

function progressLine(series: WorkloadSeries): string {
  const pairs = `${series.pairs()} of at most ${MOST_PAIRS} pairs`;
  return `measuring ${series.name}: ${pairs}, ${series.speedup().toFixed(2)}x so far`;
}

function reasonOf(
  verdict: Verdict,
  series: readonly WorkloadSeries[],
  workloads: readonly WorkloadMeasurement[],
  minimumEffect: number,
): string {
  const percent = `${Math.round(minimumEffect * 1000) / 10} %`;
  const named = (wanted: Verdict) =>
    workloads
      .filter((each) => each.verdict === wanted)
      .map((each) => `"${each.name}"`)
      .join(', ');
  switch (verdict) {
    case 'faster':
      return `${named('faster')} needs less CPU time, by more than measurement noise and the minimum effect of ${percent}.`;
    case 'slower':
      return `${named('slower')} needs more CPU time than on the base.`;
    case 'no-change':
      return `The CPU time stays within ${percent} of the base.`;
    case 'inconclusive':
      return inconclusiveReason(series, workloads);
  }
}

function inconclusiveReason(
  series: readonly WorkloadSeries[],
  workloads: readonly WorkloadMeasurement[],
): string {
  const vetoed = workloads.find((each) => each.control.vetoed);
  if (vetoed !== undefined) {
    return `The control, base against its own copy, moved to ${vetoed.control.ratio.toFixed(2)}x: the machine was too noisy.`;
  }
  if (series.some((each) => each.verdict() === null))
    return 'The time for measuring was used up before a decision.';
  if (series.some((each) => each.waits() && each.speedup() > 1)) {
    return 'CPU time fell but wall time rose: the patch waits instead of working.';
  }
  return `Noise hides whether there is an effect, after ${MOST_PAIRS} pairs.`;
}
