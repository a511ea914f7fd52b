/** What a measurement asks of a benchmark, whatever its kind: the figures of a fresh process in one arm. */
import type { Metric } from '../../domain/evaluation.js';
import type { MeasurementArm } from '../../domain/sandbox.js';

export type ArmName = 'base' | 'patch' | 'copy';

/** An arm with what was booked to it before its next process. */
export interface ObservedArm {
  readonly name: ArmName;
  readonly arm: MeasurementArm;
  /** CPU microseconds; null where the kernel books none apart: figures are then not held against it. */
  bookedUs: number | null;
}

/** Figures of one workload in one fresh process; null where the kind of benchmark cannot tell. */
export interface Sample {
  /** Milliseconds of the observer's metric per operation. */
  readonly msPerOp: number;
  /** Wall milliseconds per operation. */
  readonly wallMs: number | null;
  /** CPU milliseconds to load the benchmark with what it measures. */
  readonly importMs: number | null;
  /** CPU milliseconds of the first operation. */
  readonly firstCallMs: number | null;
  /** Largest resident memory after the same number of operations on both sides. */
  readonly peakMemoryMiB: number | null;
}

export interface Observation {
  readonly samples: ReadonlyMap<string, Sample>;
  /** Version of the Node that ran it; null where none did that is known of. */
  readonly node: string | null;
}

/** Port of the measurement; one adapter per kind of benchmark. */
export interface BenchmarkObserver {
  readonly metric: Metric;
  /** A sentence on how the metric was chosen, for the measurement's reason; null where there was no choice. */
  readonly metricReason: string | null;
  /** Splits workloads into those that one process gives together. */
  groups(workloads: readonly string[]): readonly (readonly string[])[];
  /**
   * Runs one fresh process and answers with a sample for each workload of the group. Throws StepFailed when it gives no
   * usable figures, leaves a process behind, or its CPU time is not what the kernel booked.
   */
  observe(observed: ObservedArm, group: readonly string[]): Promise<Observation>;
}

/** What all observers are made with. */
export interface ObserverOptions {
  /** Unpredictable text per process. */
  readonly nonce: () => string;
  /** Milliseconds of one process. */
  readonly timeoutMs: number;
}

/** Reads what is booked so far. */
export async function observedArm(name: ArmName, arm: MeasurementArm): Promise<ObservedArm> {
  return { name, arm, bookedUs: await arm.cpuMicros() };
}

/** The word for people. */
export function armWord(name: ArmName): string {
  return name === 'copy' ? 'copy of the base' : name;
}
