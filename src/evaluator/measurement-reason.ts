/** Says in one sentence why a measurement's verdict is what it is. */
import { METRIC_WORDS, type Metric, type Verdict, type WorkloadMeasurement } from '../domain/evaluation.js';
import { LOOKS } from './gate-rule.js';
import { costClause } from './side-costs.js';

export interface ToExplain {
  readonly verdict: Verdict;
  readonly metric: Metric;
  readonly minimumEffect: number;
  readonly workloads: readonly WorkloadMeasurement[];
  /** Whether the time was up before each workload was decided. */
  readonly isUnfinished: boolean;
}

export function measurementReason(measured: ToExplain): string {
  const { verdict, metric, minimumEffect, workloads } = measured;
  const percent = `${Math.round(minimumEffect * 1000) / 10} %`;
  const named = (wanted: Verdict) =>
    workloads
      .filter((each) => each.verdict === wanted)
      .map((each) => `"${each.name}"`)
      .join(', ');
  switch (verdict) {
    case 'faster':
      return `${named('faster')} needs less ${METRIC_WORDS[metric]}, by more than measurement noise and the minimum effect of ${percent}.`;
    case 'slower':
      return `${named('slower')} needs more ${METRIC_WORDS[metric]} than on the base.`;
    case 'no-change':
      return `The ${METRIC_WORDS[metric]} stays within ${percent} of the base.`;
    case 'inconclusive':
      return inconclusiveReason(measured);
  }
}

function inconclusiveReason({ workloads, isUnfinished, metric }: ToExplain): string {
  const vetoed = workloads.find((each) => each.control.vetoed);
  if (vetoed !== undefined) {
    return `The control, base against its own copy, moved to ${vetoed.control.ratio.toFixed(2)}x: the machine was too noisy.`;
  }
  const paid = workloads.flatMap((each) =>
    each.costs.filter(({ worse }) => worse).map((cost) => ({ name: each.name, cost })),
  );
  const first = paid[0];
  if (first !== undefined) {
    const waits = first.cost.cost === 'wall-time' ? ' The patch waits instead of working.' : '';
    return `The gain in ${METRIC_WORDS[metric]} is paid for: on "${first.name}" ${paid
      .filter(({ name }) => name === first.name)
      .map(({ cost }) => costClause(cost))
      .join(', ')}.${waits}`;
  }
  if (isUnfinished) return 'The time for measuring was used up before a decision.';
  return `Noise hides whether there is an effect, after ${LOOKS[LOOKS.length - 1]} pairs.`;
}
