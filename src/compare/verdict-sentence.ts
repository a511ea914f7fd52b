/** The sentence of a comparison: a verdict with the bound that a reader may rely on, never with the estimate. */
import {
  METRIC_WORDS,
  type Measurement,
  type SideCost,
  type WorkloadMeasurement,
} from '../domain/evaluation.js';
import { atLeastPercent, costFigure, milliseconds, ratio, savedShare } from '../publisher/figures.js';
import type { Comparison } from './comparison.js';

/** One line without Markdown. */
export function verdictSentence(comparison: Comparison): string {
  const { verdict, measurement, confirmation, reason } = comparison;
  if (verdict === 'inconclusive') return `Inconclusive. ${reason}`;
  if (verdict === 'no-change') return `No change. ${reason}`;
  const word = verdict === 'faster' ? 'Faster' : 'Slower';
  const bound = boundOf(measurement, confirmation, verdict);
  return bound === null ? `${word}. ${reason}` : `${word}: ${bound}${whereOf(measurement, verdict)}.`;
}

/** `at least 12 % less CPU time`, by the least favourable bound of the workloads with the verdict; null without one. */
function boundOf(
  measurement: Measurement,
  confirmation: Measurement | null,
  verdict: 'faster' | 'slower',
): string | null {
  const decided = measurement.workloads.filter((workload) => workload.verdict === verdict);
  const metric = METRIC_WORDS[measurement.metric];
  const bounds = decided.map((workload) => {
    const again = confirmation?.workloads.find((each) => each.name === workload.name);
    const known = [workload.interval, again?.interval].filter((interval) => interval != null);
    return verdict === 'faster'
      ? Math.min(...known.map(([low]) => low))
      : Math.max(...known.map(([, high]) => high));
  });
  const bound = verdict === 'faster' ? Math.min(...bounds) : Math.max(...bounds);
  if (!Number.isFinite(bound) || bound <= 0) return null;
  if (verdict === 'faster')
    return bound > 1 ? `at least ${atLeastPercent(savedShare(bound))} less ${metric}` : null;
  return bound < 1 ? `at least ${atLeastPercent(1 / bound - 1)} more ${metric}` : null;
}

function whereOf(measurement: Measurement, verdict: 'faster' | 'slower'): string {
  const all = measurement.workloads.length;
  const count = measurement.workloads.filter((workload) => workload.verdict === verdict).length;
  return all === 1 ? '' : ` on ${count} of ${all} workloads`;
}

/** A row of the result table; `name` is the workload's, fit for where it is shown. */
export function resultCells(workload: WorkloadMeasurement, name: string): readonly string[] {
  return [
    name,
    workload.verdict,
    ratio(workload.speedup),
    intervalText(workload),
    String(workload.pairs),
    milliseconds(workload.baseMs),
    milliseconds(workload.patchMs),
    controlText(workload),
  ];
}

/** `55.0x to 61.2x`, or a dash where there are too few pairs. */
function intervalText({ interval }: WorkloadMeasurement): string {
  return interval === null ? '-' : `${ratio(interval[0])} to ${ratio(interval[1])}`;
}

/** The control's ratio, `-` where no control ran. */
function controlText({ control }: WorkloadMeasurement): string {
  if (control.blocks === 0) return '-';
  return `${ratio(control.ratio)}${control.vetoed ? ' (veto)' : ''}`;
}

const COST_NAMES: Readonly<Record<SideCost['cost'], string>> = {
  'import-time': 'import',
  'first-call': 'first call',
  'wall-time': 'wall time',
  'peak-memory': 'peak memory',
};
const NOTABLE = 1.1;

/** What got worse by a tenth, and what import or memory gained, one line per workload that has any. */
export function notableCosts(workloads: readonly WorkloadMeasurement[]): readonly string[] {
  return workloads.flatMap((workload) => {
    const notable = workload.costs.filter(isNotable);
    return notable.length === 0 ? [] : [`${workload.name}: ${notable.map(costText).join(', ')}`];
  });
}

/** First call and wall time fall with the work itself, which the table tells already. */
function isNotable({ cost, ratio: change, worse }: SideCost): boolean {
  if (worse || change >= NOTABLE) return true;
  return change <= 1 / NOTABLE && (cost === 'import-time' || cost === 'peak-memory');
}

function costText({ cost, base, patch, worse }: SideCost): string {
  return `${COST_NAMES[cost]} ${costFigure(cost, base)} to ${costFigure(cost, patch)}${worse ? ' (worse)' : ''}`;
}
