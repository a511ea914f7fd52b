/** The rule of the gate: what a series of paired log ratios means at a look, and when the control copy vetoes it. */
import type { Verdict } from '../domain/evaluation.js';
import { hodgesLehmann, type SignedRankSummary, summariseSignedRanks } from './signed-rank.js';

/** Numbers of pairs at which a decision may fall; the first is the early look. */
export const LOOKS = [6, 10, 14, 20, 28, 40] as const;
/** Blocks that also run the control copy of base. */
export const CONTROL_BLOCKS = 6;

const EARLY_LOOK = LOOKS[0];
const LAST_LOOK = LOOKS[5];
const EARLY_RATIO = 1.5;
/** The interval must exclude everything smaller than this share of the minimum effect. */
const BOUND = 0.5;
/** Two-sided, per look: five looks spend 2.5 %. */
const ALPHA_DIFFERENCE = 0.005;
const ALPHA_EQUIVALENCE = 0.02;
const SMALLEST_DRIFT_LIMIT = 0.05;

export interface GateRule {
  /** Smallest gain that counts, 0.05 = 5 %; above 0 and below 1. */
  readonly minimumEffect: number;
  /** Hypotheses that the level for `faster` is shared by; 1 for a workload alone. */
  readonly comparisons: number;
  /** Whether the early look may call it faster; default true. */
  readonly earlyFaster?: boolean;
}

/** Workloads judged side by side that have the same number of pairs. */
export interface Family {
  /** All workloads of the measurement, decided ones too. */
  readonly size: number;
  /** How many of them the rule has called `faster` at earlier looks. */
  readonly faster: number;
  readonly minimumEffect: number;
}

export interface GateLook {
  readonly verdict: Verdict | null;
  /** Pairs at which to look next; null when decided. */
  readonly nextLook: number | null;
  /** Hodges–Lehmann estimate of ln(patch / base). */
  readonly estimate: number;
  /** Bounds of ln(patch / base); null when there are fewer pairs than any interval needs. */
  readonly interval: readonly [number, number] | null;
  readonly intervalKind: '99.5 % signed-rank interval' | 'range of the paired ratios';
}

/**
 * Looks at `d_i = ln(patch_i / base_i)` (negative is faster). Decides only at the looks; in between it names the next.
 * The last look always decides. Throws RangeError for a log ratio that is not finite.
 */
export function lookAt(logRatios: readonly number[], rule: GateRule): GateLook {
  if (!logRatios.every(Number.isFinite)) throw new RangeError('Every log ratio must be finite.');
  const pairs = logRatios.length;
  const summary = summariseSignedRanks(logRatios);
  const early = pairs === EARLY_LOOK ? earlyVerdict(logRatios) : null;
  if (early === 'slower' || (early === 'faster' && rule.earlyFaster !== false)) {
    return {
      verdict: early,
      nextLook: null,
      estimate: summary.estimate,
      interval: [Math.min(...logRatios), Math.max(...logRatios)],
      intervalKind: 'range of the paired ratios',
    };
  }
  const interval = summary.interval(ALPHA_DIFFERENCE);
  const decided = isRankLook(pairs) ? rankVerdict(summary, rule) : null;
  const verdict = decided ?? (pairs >= LAST_LOOK ? 'inconclusive' : null);
  return {
    verdict,
    nextLook: verdict === null ? (LOOKS.find((look) => look > pairs) ?? null) : null,
    estimate: summary.estimate,
    interval: Number.isFinite(interval[0]) ? interval : null,
    intervalKind: '99.5 % signed-rank interval',
  };
}

/**
 * Looks at the undecided workloads of a family at once, by Holm's step-down procedure for `faster` (S. Holm, A simple
 * sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979): of m workloads the first is
 * called faster at the level alpha/m, the next at alpha/(m-1), and so on. Each look steps down anew from the number that
 * is left, counting what earlier looks have called faster and nothing else.
 *
 * Why it stays valid over looks: take the workload without a gain that is called faster first. All that were called faster
 * before it have a gain, so with m0 workloads without one its level is at most alpha/m0. A wrong `faster` therefore needs
 * one of m0 workloads to pass alpha/m0 at one of five looks: at most 5·alpha, as for one workload alone. The argument
 * counts rejections, not their order or time; it holds for group-sequential Holm in general (Ye, Li, Liu & Yao, Statistics in
 * Medicine 32, 2013).
 *
 * Six pairs have no level to share. At the early look several workloads are called faster only all together: that is an
 * intersection-union test (Berger, Technometrics 24, 1982), for a wrong one needs a workload without a gain to pass, at
 * the level of one alone. `slower` and `no-change` are not corrected: a patch is rather refused once too often.
 *
 * Answers in the order of `open`. Throws RangeError for a log ratio that is not finite.
 */
export function lookAtFamily(open: readonly (readonly number[])[], family: Family): readonly GateLook[] {
  const { size, minimumEffect } = family;
  const earlyFaster = size === 1 || (open.length === size && open.every(isEarlyFaster));
  let faster = family.faster;
  for (;;) {
    const rule = { minimumEffect, comparisons: Math.max(1, size - faster), earlyFaster };
    const looks = open.map((logRatios) => lookAt(logRatios, rule));
    const found = family.faster + looks.filter(({ verdict }) => verdict === 'faster').length;
    if (found === faster) return looks;
    faster = found;
  }
}

function isEarlyFaster(logRatios: readonly number[]): boolean {
  return logRatios.length === EARLY_LOOK && earlyVerdict(logRatios) === 'faster';
}

/**
 * How far the control copy moved against base: `|HL(ln(copy_i / base_i))|`, and whether that forbids any verdict
 * because it passes max(0.05, half of the measured |ln speed-up|).
 */
export function controlVeto(
  controlLogRatios: readonly number[],
  estimate: number,
): { readonly drift: number; readonly vetoed: boolean } {
  const drift = Math.abs(hodgesLehmann(controlLogRatios));
  return { drift, vetoed: !(drift <= Math.max(SMALLEST_DRIFT_LIMIT, 0.5 * Math.abs(estimate))) };
}

/** `slower` where any workload is, else `faster` where any is, else `no-change` where all are, else `inconclusive`. */
export function combineVerdicts(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('slower')) return 'slower';
  if (verdicts.includes('faster')) return 'faster';
  return verdicts.length > 0 && verdicts.every((verdict) => verdict === 'no-change')
    ? 'no-change'
    : 'inconclusive';
}

function isRankLook(pairs: number): boolean {
  return pairs >= LAST_LOOK || LOOKS.some((look) => look === pairs && look !== EARLY_LOOK);
}

function earlyVerdict(logRatios: readonly number[]): Verdict | null {
  const threshold = Math.log(EARLY_RATIO);
  if (logRatios.every((d) => d < -threshold)) return 'faster';
  if (logRatios.every((d) => d > threshold)) return 'slower';
  return null;
}

function rankVerdict({ estimate, interval }: SignedRankSummary, rule: GateRule): Verdict | null {
  const least = Math.log(1 - rule.minimumEffect);
  const half = Math.log(1 - rule.minimumEffect * BOUND);
  const [low] = interval(ALPHA_DIFFERENCE);
  const [, correctedHigh] = interval(ALPHA_DIFFERENCE / rule.comparisons);
  if (correctedHigh < half && estimate <= least) return 'faster';
  if (low > -half && estimate >= -least) return 'slower';
  const [equalLow, equalHigh] = interval(ALPHA_EQUIVALENCE);
  return equalLow > least && equalHigh < -least ? 'no-change' : null;
}
