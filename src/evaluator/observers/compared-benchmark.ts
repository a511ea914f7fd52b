/** What the same-output check hands to the measurement. */
import type { MeasurementArm } from '../../domain/sandbox.js';
import type { ArmName, BenchmarkObserver } from './benchmark-observer.js';

/** Open arms; `copy` holds the same files as `base`. */
export type ComparedArms = Readonly<Record<ArmName, MeasurementArm>>;

export interface ComparedBenchmark {
  /** Names of the workloads, at least one, the same on both sides. */
  readonly workloads: readonly string[];
  readonly observer: BenchmarkObserver;
  /** `not-compared`: the kind of benchmark has no output that could be, or it differs from run to run on the base. */
  readonly output: 'same' | 'not-compared';
  /** One sentence for the pull request. */
  readonly summary: string;
}
