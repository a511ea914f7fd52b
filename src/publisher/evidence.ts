/** A measurement in Markdown: the sentence that a reader may rely on, the table behind it, the conditions. */
import {
  type EvaluationFailed,
  type EvaluationPassed,
  METRIC_WORDS,
  type Measurement,
  type SideCost,
  type StepReport,
  type WorkloadMeasurement,
} from '../domain/evaluation.js';
import { atLeastPercent, costFigure, duration, milliseconds, ratio, savedShare } from './figures.js';
import { code, inline, withoutMiddle } from './hostile-text.js';

const MAX_WORKLOADS_SHOWN = 20;
const STEP_NAMES: Readonly<Record<StepReport['step'], string>> = {
  policy: 'Patch policy',
  build: 'Build',
  checks: 'Types, lint, format',
  tests: 'Tests',
  'changed-lines': 'Changed lines',
  'same-output': 'Same output',
  measurement: 'Measurement',
  'held-back': 'Held-back workload',
};

/** What one workload saves at least: the lower bound of its speed-up over measurement and confirmation. Null without an interval. */
function lowerBound(workload: WorkloadMeasurement, confirmation: Measurement | null): number | null {
  const again = confirmation?.workloads.find((candidate) => candidate.name === workload.name);
  const bounds = [workload, again].map((measured) => measured?.interval?.[0]);
  const known = bounds.filter((bound): bound is number => bound !== undefined);
  return known.length === 0 ? null : Math.min(...known);
}

/**
 * `at least 67 % less CPU time`: the lower bound of the least of the workloads found faster, over measurement and
 * confirmation. Null when no workload is faster with a bound above 1.
 */
export function claim(measurement: Measurement, confirmation: Measurement | null): string | null {
  const bounds = measurement.workloads
    .filter((workload) => workload.verdict === 'faster')
    .map((workload) => lowerBound(workload, confirmation));
  const known = bounds.filter((bound): bound is number => bound !== null);
  if (known.length === 0 || known.length < bounds.length) return null;
  const least = Math.min(...known);
  return least > 1
    ? `at least ${atLeastPercent(savedShare(least))} less ${METRIC_WORDS[measurement.metric]}`
    : null;
}

function capital(text: string): string {
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;
}

const COST_WORDS: Readonly<Record<SideCost['cost'], string>> = {
  'import-time': 'time to import',
  'first-call': 'first call',
  'wall-time': 'wall time',
  'peak-memory': 'peak memory',
};

/** What else changed, one line per workload that tells; base before patch. */
function costLines({ workloads }: Measurement): readonly string[] {
  return workloads.slice(0, MAX_WORKLOADS_SHOWN).flatMap(({ name, costs }) => {
    const told = costs.map(
      ({ cost, base, patch }) => `${COST_WORDS[cost]} ${costFigure(cost, base)} → ${costFigure(cost, patch)}`,
    );
    return told.length === 0 ? [] : [`- Beside it, on ${code(name, 60)}: ${told.join(', ')}.`];
  });
}

/** The sentence of a pull request, with the workloads it holds for when there are several. */
export function claimSentence(measurement: Measurement, confirmation: Measurement | null): string {
  const text = claim(measurement, confirmation);
  if (text === null) return 'The measurement gives no lower bound to quote.';
  const faster = measurement.workloads.filter((workload) => workload.verdict === 'faster');
  const names = faster.slice(0, 5).map((workload) => code(workload.name, 60));
  const where =
    measurement.workloads.length === 1
      ? 'on the benchmark'
      : `on ${faster.length} of ${measurement.workloads.length} workloads (${names.join(', ')}${faster.length > 5 ? ', …' : ''})`;
  return `**${capital(text)}** ${where} (lower bound of the interval).`;
}

/** One row per workload: base, patch, speed-up, interval, pairs, A/A control, verdict. */
export function measurementTable(measurement: Measurement): string {
  const shown = measurement.workloads.slice(0, MAX_WORKLOADS_SHOWN);
  const rows = shown.map((workload) =>
    [
      code(workload.name, 60),
      milliseconds(workload.baseMs),
      milliseconds(workload.patchMs),
      ratio(workload.speedup),
      workload.interval === null ? '–' : `${ratio(workload.interval[0])} to ${ratio(workload.interval[1])}`,
      String(workload.pairs),
      `${ratio(workload.control.ratio)}${workload.control.vetoed ? ' (veto)' : ''}`,
      workload.verdict,
    ].join(' | '),
  );
  const more = measurement.workloads.length - shown.length;
  return [
    '| Workload | Base | Patch | Speed-up | Interval | Pairs | A/A control | Verdict |',
    '| --- | ---: | ---: | ---: | --- | ---: | ---: | --- |',
    ...rows.map((row) => `| ${row} |`),
    ...(more > 0 ? ['', `${more} more workloads are not shown.`] : []),
  ].join('\n');
}

/** How to read the table, and under which conditions it was measured. */
export function measurementNotes(measurement: Measurement): string {
  const kinds = [...new Set(measurement.workloads.map((workload) => workload.intervalKind))];
  const { environment } = measurement;
  return [
    `- ${capital(METRIC_WORDS[measurement.metric])} per operation (median); speed-up is base time divided by patch time, above 1 is faster. Interval: ${kinds.join(' or ')}.`,
    `- ${measurement.runs} fresh processes in ${duration(measurement.seconds)}, base, patch and an identical copy of the base (A/A control) interleaved in random order, seed ${code(measurement.seed, 80)}.`,
    ...costLines(measurement),
    `- Smallest gain that counts: ${(measurement.minimumEffect * 100).toFixed(1).replace(/\.0$/, '')} %.`,
    `- ${environment.node === null ? '' : `Node ${inline(environment.node, 40)}, `}runtime ${code(environment.runtime, 40)}, CPUs ${code(environment.cpuset, 40)}, image ${code(environment.imageId, 90)}, load ${environment.load[0].toFixed(2)} before and ${environment.load[1].toFixed(2)} after.`,
  ].join('\n');
}

/** The confirmation in fresh containers, or what is said when settings switched it off. */
export function confirmationText(confirmation: Measurement | null): string {
  if (confirmation === null) return 'No confirmation run: the settings switched it off.';
  return `Measured once more in fresh containers (${confirmation.runs} processes, ${duration(confirmation.seconds)}), verdict **${confirmation.verdict}**:\n\n${measurementTable(confirmation)}`;
}

/** What the workload says that whoever wrote the patch never saw. */
export function heldBackText(heldBack: Measurement | null): string {
  if (heldBack === null) return 'Held-back workload: none was measured.';
  const measured = claim(heldBack, null) ?? 'faster, without a lower bound to quote';
  return `Held-back workload (other inputs, made before any patch existed and not shown to whoever wrote it): ${measured}, verdict **${heldBack.verdict}**, ${heldBack.runs} processes.`;
}

/** What each step of the gate found. */
export function stepTable(evaluation: EvaluationPassed | EvaluationFailed): string {
  const rows = evaluation.steps.map(
    (step) =>
      `| ${STEP_NAMES[step.step]} | ${step.ok ? 'passed' : '**failed**'} | ${duration(step.seconds)} | ${inline(withoutMiddle(step.summary, 300), 320)} |`,
  );
  return ['| Check | Result | Took | |', '| --- | --- | ---: | --- |', ...rows].join('\n');
}
