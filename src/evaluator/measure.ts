/** The measurement: base, patch and a copy of base as interleaved fresh processes, looked at until the rule decides. */
import type { Measurement, Verdict } from '../domain/evaluation.js';
import type { MeasurementArm } from '../domain/sandbox.js';
import { createBlockRunner } from './block-runner.js';
import { CONTROL_BLOCKS, combineVerdicts, LOOKS, lookAtFamily } from './gate-rule.js';
import { measurementReason } from './measurement-reason.js';
import type { ArmName, BenchmarkObserver } from './observers/benchmark-observer.js';
import { createWorkloadSeries, type WorkloadSeries } from './workload-series.js';

export interface MeasureRequest {
  /** Open arms; `copy` holds the same files as `base`. Nothing else runs on their CPUs. */
  readonly arms: Readonly<Record<ArmName, MeasurementArm>>;
  readonly observer: BenchmarkObserver;
  /** Names that the benchmark announced, at least one. */
  readonly workloads: readonly string[];
  /** 0.05 = 5 %. */
  readonly minimumEffect: number;
  /** Growth of peak memory that is let through, 0.2 = 20 %. */
  readonly memoryGrowth: number;
  /** Seed of the order. */
  readonly seed: string;
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
 * cannot be used, PeerError when the engine fails. Several workloads: Holm over workloads for `faster`, one that is slower
 * decides. A gain that is paid for with a worse side cost, on any workload, is `inconclusive`.
 */
export async function measure(request: MeasureRequest): Promise<Measurement> {
  const { observer, minimumEffect, memoryGrowth } = request;
  const started = request.now();
  const loadBefore = request.load();
  const limits = { minimumEffect, memoryGrowth };
  const series = request.workloads.map((name) => createWorkloadSeries(name, limits));
  const runner = await createBlockRunner(request);
  for (let block = 0; block < MOST_PAIRS && !isOver(request, started, series); block++) {
    const open = series.filter((one) => one.verdict() === null);
    for (const group of observer.groups(open.map(({ name }) => name))) {
      const found = await runner.run(group, block < CONTROL_BLOCKS);
      for (const each of open) {
        const pair = found.get(each.name);
        if (pair === undefined) continue;
        each.add(pair);
        request.progress(progressLine(each));
      }
    }
    judge(open, series, minimumEffect);
  }
  const workloads = series.map((each) => each.report());
  const verdict = verdictOf(series);
  const isUnfinished = series.some((each) => each.verdict() === null);
  const reason = measurementReason({
    verdict,
    metric: observer.metric,
    minimumEffect,
    workloads,
    isUnfinished,
  });
  return {
    verdict,
    metric: observer.metric,
    minimumEffect,
    workloads,
    runs: runner.runs(),
    seconds: (request.now() - started) / 1000,
    seed: request.seed,
    environment: {
      ...request.environment,
      node: runner.node(),
      load: [loadBefore, request.load()],
    },
    reason: observer.metricReason === null ? reason : `${reason} ${observer.metricReason}`,
  };
}

/** The rule looks at all workloads that were open in this block, with what it called faster in earlier ones. */
function judge(open: readonly WorkloadSeries[], all: readonly WorkloadSeries[], minimumEffect: number): void {
  const decided = all.filter((each) => !open.includes(each));
  const faster = decided.filter((each) => each.ruleVerdict() === 'faster').length;
  const logRatios = open.map((each) => each.logRatios());
  const looks = lookAtFamily(logRatios, { size: all.length, faster, minimumEffect });
  open.forEach((each, index) => {
    const look = looks[index];
    if (look !== undefined) each.judge(look);
  });
}

function verdictOf(series: readonly WorkloadSeries[]): Verdict {
  const verdict = combineVerdicts(series.map((each) => each.verdict() ?? 'inconclusive'));
  const isPaidFor = series.some((each) => each.worseCosts().length > 0);
  return verdict === 'faster' && isPaidFor ? 'inconclusive' : verdict;
}

function isOver(request: MeasureRequest, started: number, series: readonly WorkloadSeries[]): boolean {
  request.signal.throwIfAborted();
  if (request.now() - started > request.timeLimitMs) return true;
  const verdicts = series.map((each) => each.verdict());
  return verdicts.includes('slower') || !verdicts.includes(null);
}

function progressLine(series: WorkloadSeries): string {
  const pairs = `${series.pairs()} of at most ${MOST_PAIRS} pairs`;
  return `measuring ${series.name}: ${pairs}, ${series.speedup().toFixed(2)}x so far`;
}
