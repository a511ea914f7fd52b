/** What the gate answers: a verdict with its interval, and the evaluation that allows or refuses a pull request. */
import type { Benchmark } from './plan.js';
import type { RepositoryRef } from './repository.js';
import type { RepositorySettings } from './settings.js';

export type Verdict = 'faster' | 'slower' | 'no-change' | 'inconclusive';
export type EvaluationStep = 'policy' | 'build' | 'tests' | 'same-output' | 'measurement';

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
  /** Median CPU milliseconds per operation. */
  readonly baseMs: number;
  readonly patchMs: number;
  /** ln(patch/base) of each pair in the order measured. */
  readonly logRatios: readonly number[];
}

export interface Measurement {
  /** The worst verdict over workloads; `faster` only when at least one is faster and none slower. */
  readonly verdict: Verdict;
  readonly metric: 'cpu-time';
  readonly minimumEffect: number;
  readonly workloads: readonly WorkloadMeasurement[];
  /** Fresh processes run, over all arms. */
  readonly runs: number;
  readonly seconds: number;
  /** Seed of the interleaving order. */
  readonly seed: string;
  readonly environment: {
    readonly node: string;
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
 * and gives the same checksum twice; `msPerOp` is CPU time. A benchmark that does not work is an answer (`reason` is
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
  | { readonly ok: true; readonly workloads: readonly { readonly name: string; readonly msPerOp: number }[] }
  | { readonly ok: false; readonly reason: string }
>;
