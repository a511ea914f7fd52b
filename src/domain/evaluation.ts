/** What the gate answers: a verdict with its interval, and the evaluation that allows or refuses a pull request. */
import type { Benchmark, HeldBackBenchmark, HotFunction, ModuleBenchmark } from './plan.js';
import type { RepositoryRef } from './repository.js';
import type { RepositorySettings } from './settings.js';

export type Verdict = 'faster' | 'slower' | 'no-change' | 'inconclusive';
/** In the order in which they are done. */
export type EvaluationStep =
  | 'policy'
  | 'build'
  | 'checks'
  | 'tests'
  | 'changed-lines'
  | 'same-output'
  | 'measurement'
  | 'held-back';

/** What the figures are: CPU time of the processes, wall time where the work waits, or a tool's own figures. */
export type Metric = 'cpu-time' | 'wall-time' | 'reported';

/** For people, in the middle of a sentence. */
export const METRIC_WORDS: Readonly<Record<Metric, string>> = {
  'cpu-time': 'CPU time',
  'wall-time': 'wall time',
  reported: 'time as the tool reports it',
};

/** What a gain must not be paid with. Both sides as medians: milliseconds, for memory MiB. */
export interface SideCost {
  readonly cost: 'import-time' | 'first-call' | 'wall-time' | 'peak-memory';
  /** Patch over base by the Hodges–Lehmann estimate of the pairs; above 1 is worse. */
  readonly ratio: number;
  readonly base: number;
  readonly patch: number;
  /** Worse beyond what the settings allow and beyond noise: no verdict `faster` then. */
  readonly worse: boolean;
}

/** One workload of the benchmark, measured as interleaved pairs. Ratios are base time divided by patch time: above 1 is faster. */
export interface WorkloadMeasurement {
  /** `run` for a benchmark with a single workload. */
  readonly name: string;
  readonly verdict: Verdict;
  readonly speedup: number;
  /** Lower and upper bound of the speed-up; null when fewer pairs than any interval needs. */
  readonly interval: readonly [number, number] | null;
  readonly intervalKind: '99.5 % signed-rank interval' | 'range of the paired ratios';
  readonly pairs: number;
  /** Base against a byte-identical copy of itself in the same measurement. */
  readonly control: { readonly ratio: number; readonly blocks: number; readonly vetoed: boolean };
  /** What else changed; empty where the kind of benchmark cannot tell. */
  readonly costs: readonly SideCost[];
  /** Median milliseconds of the metric per operation. */
  readonly baseMs: number;
  readonly patchMs: number;
  /** ln(patch/base) of each pair in the order measured. */
  readonly logRatios: readonly number[];
}

export interface Measurement {
  /** The worst verdict over workloads; `faster` only when at least one is faster and none slower. */
  readonly verdict: Verdict;
  readonly metric: Metric;
  readonly minimumEffect: number;
  readonly workloads: readonly WorkloadMeasurement[];
  /** Fresh processes run, over all arms. */
  readonly runs: number;
  readonly seconds: number;
  /** Seed of the interleaving order. */
  readonly seed: string;
  readonly environment: {
    /** Version; null where the benchmark's processes are no Node that is known of. */
    readonly node: string | null;
    readonly runtime: string;
    readonly imageId: string;
    readonly cpuset: string;
    /** 1-minute load average before and after. */
    readonly load: readonly [number, number];
  };
  /** Why a verdict is not `faster`, in one sentence. */
  readonly reason: string;
}

export interface StepReport {
  readonly step: EvaluationStep;
  readonly ok: boolean;
  readonly seconds: number;
  /** One sentence for the pull request. */
  readonly summary: string;
}

export interface EvaluationPassed {
  readonly outcome: 'passed';
  readonly baseCommit: string;
  readonly tree: string;
  readonly patchDigest: string;
  readonly benchmarkSha256: string;
  readonly steps: readonly StepReport[];
  readonly measurement: Measurement;
  /** Confirmation in fresh containers; null only in settings that switch it off. */
  readonly confirmation: Measurement | null;
  /** The held-back workload, faster too; null where there is none. */
  readonly heldBack: Measurement | null;
  /** Reasons why the pull request must be a draft; empty for none. */
  readonly draftReasons: readonly string[];
  /** Commands that a person can run to see the same. */
  readonly reproduce: readonly string[];
}

export interface EvaluationFailed {
  readonly outcome: 'failed';
  readonly baseCommit: string;
  readonly tree: string | null;
  readonly patchDigest: string;
  readonly steps: readonly StepReport[];
  readonly failedStep: EvaluationStep;
  /** One sentence for people. */
  readonly summary: string;
  /** Bounded text for recovering: command output, offending paths, the measurement. */
  readonly evidence: string;
  /** Present when it came as far as measuring. */
  readonly measurement: Measurement | null;
}

export type Evaluation = EvaluationPassed | EvaluationFailed;

/**
 * Port for planning: tries a benchmark on the base commit before it is frozen. `ok` means that it builds, loads, runs
 * and gives the same checksum twice; `msPerOp` is in the measurement's metric. A benchmark that does not work is an answer (`reason` is
 * one sentence with the error's text), not an error; throws PeerError when the engine fails.
 */
export type BenchmarkTrial = (
  request: {
    readonly run: string;
    readonly repository: RepositoryRef;
    readonly baseCommit: string;
    readonly settings: RepositorySettings;
    readonly benchmark: Benchmark;
  },
  signal: AbortSignal,
) => Promise<
  | {
      readonly ok: true;
      readonly workloads: readonly { readonly name: string; readonly msPerOp: number }[];
      /** Hottest functions of the base under the benchmark; empty where the kind of benchmark gives no profile. */
      readonly profile: readonly HotFunction[];
    }
  | { readonly ok: false; readonly reason: string }
>;

/**
 * Port for planning: tries a held-back module on the base, beside the benchmark that it goes with. `ok` means that it loads and runs
 * outside the tree, gives the same checksum twice, and another one than the benchmark. What does not hold is an answer
 * (`reason` is a sentence for its author), not an error; throws PeerError when the engine fails.
 */
export type HeldBackTrial = (
  request: {
    readonly run: string;
    readonly repository: RepositoryRef;
    readonly baseCommit: string;
    readonly settings: RepositorySettings;
    readonly benchmark: ModuleBenchmark;
    readonly heldBack: HeldBackBenchmark;
  },
  signal: AbortSignal,
) => Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: string }>;
