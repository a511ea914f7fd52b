/** The held-back workload of a plan: frozen with the benchmark once it was seen to work on the base, and shown to nobody after that. */
import type { Benchmark, HeldBackBenchmark } from '../domain/plan.js';
import { type Planning, sha256, trialOf } from './frozen-benchmark.js';
import type { PlanWithBenchmark } from './plan-shape.js';

/** Its name in pull requests; no tree ever holds it. */
const HELD_BACK_PATH = '.hasten/held-back.mjs';

export type HeldBack =
  | { readonly ok: true; readonly heldBack: HeldBackBenchmark | null }
  /** `reason` is one clause for its author. */
  | { readonly ok: false; readonly reason: string };

/** Tries what the plan hands over; null for benchmarks that are commands, for they have none. */
export async function heldBackOfPlan(
  planning: Planning,
  benchmark: Benchmark,
  fields: PlanWithBenchmark,
): Promise<HeldBack> {
  if (benchmark.kind !== 'module') return { ok: true, heldBack: null };
  if (fields.heldBack === undefined) return { ok: false, reason: 'the field "heldBack" is missing' };
  const { source } = fields.heldBack;
  const heldBack = { path: HELD_BACK_PATH, source, sha256: sha256(source) };
  const { deps, context } = planning;
  context.progress('tries the held-back workload on the base');
  const trial = await deps.heldBackTrial({ ...trialOf(planning, benchmark), heldBack }, context.signal);
  return trial.ok ? { ok: true, heldBack } : trial;
}
