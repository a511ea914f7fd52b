/** Observes a command of any language: CPU or wall time of its process tree, the least of a few runs. */
import type { Metric } from '../../domain/evaluation.js';
import type { BenchmarkObserver, ObserverOptions } from './benchmark-observer.js';
import type { CommandRun } from './command-protocol.js';
import { runInArm } from './command-run.js';

/** The one workload of a command. */
export const COMMAND_WORKLOAD = 'run';
/** Of standard output, for people. */
export const KEPT_OUTPUT_BYTES = 4000;

export interface CommandObserverOptions extends ObserverOptions {
  readonly command: string;
  readonly metric: Metric;
  readonly metricReason: string | null;
  /** Runs of the command in one process; the least figure of them counts. */
  readonly runs: number;
}

export function createCommandObserver(options: CommandObserverOptions): BenchmarkObserver {
  const toRun = { ...options, file: null, keptBytes: KEPT_OUTPUT_BYTES };
  return {
    metric: options.metric,
    metricReason: options.metricReason,
    groups: (workloads) => workloads.map((name) => [name]),
    async observe(observed, [workload = COMMAND_WORKLOAD]) {
      const answer = await runInArm(observed, toRun, options.runs);
      const cpuMs = leastCpuMs(answer.runs);
      const wallMs = Math.min(...answer.runs.map(({ wallNs }) => wallNs / 1e6));
      const sample = {
        msPerOp: options.metric === 'wall-time' ? wallMs : cpuMs,
        wallMs: options.metric === 'wall-time' ? null : wallMs,
        importMs: null,
        firstCallMs: null,
        peakMemoryMiB: Math.max(...answer.runs.map(({ maxRssKb }) => maxRssKb)) / 1024,
      };
      return { samples: new Map([[workload, sample]]), node: null };
    },
  };
}

/** CPU milliseconds of the cheapest run; never zero, since clocks of some runtimes tick slowly. */
export function leastCpuMs(runs: readonly CommandRun[]): number {
  return Math.max(0.001, Math.min(...runs.map(({ cpuUs }) => cpuUs / 1e3)));
}
