/** A comparison, or the error instead of it, as one JSON object for programs. */
import type { StoredError } from '../domain/errors.js';
import type { Measurement, WorkloadMeasurement } from '../domain/evaluation.js';
import { type Comparison, ERROR_EXIT_CODE, exitCodeOf } from './comparison.js';
import { pairedRatios } from './ratio-strip.js';
import { verdictSentence } from './verdict-sentence.js';

/** One line. Ratios are base time divided by head time: above 1 is faster. Times are milliseconds, what is unknown is null. */
export function jsonReport(comparison: Comparison): string {
  const { measurement, confirmation } = comparison;
  return JSON.stringify({
    verdict: comparison.verdict,
    exitCode: exitCodeOf(comparison.verdict),
    sentence: verdictSentence(comparison),
    reason: comparison.reason,
    base: comparison.base,
    head: comparison.head,
    benchmark: comparison.benchmark,
    place: comparison.place,
    output: comparison.output,
    ...measurementMembers(measurement),
    seed: comparison.seed,
    confirmation:
      confirmation === null
        ? null
        : { verdict: confirmation.verdict, reason: confirmation.reason, ...measurementMembers(confirmation) },
  });
}

/** The same place for what went wrong: `verdict` is null. */
export function jsonError(error: StoredError, evidence: string | null): string {
  const { code, fault, message } = error;
  return JSON.stringify({
    verdict: null,
    exitCode: ERROR_EXIT_CODE,
    error: { code, fault, message, evidence },
  });
}

function measurementMembers(measurement: Measurement) {
  const { metric, minimumEffect, runs, seconds, seed, environment } = measurement;
  const workloads = measurement.workloads.map(workloadMembers);
  return { metric, minimumEffect, workloads, runs, seconds, seed, environment };
}

function workloadMembers(workload: WorkloadMeasurement) {
  const { name, verdict, speedup, interval, intervalKind, pairs, control, costs, baseMs } = workload;
  return {
    name,
    verdict,
    speedup,
    interval,
    intervalKind,
    pairs,
    baseMs,
    headMs: workload.patchMs,
    control,
    costs: costs.map(({ patch, ...cost }) => ({ ...cost, head: patch })),
    ratios: pairedRatios(workload.logRatios),
  };
}
