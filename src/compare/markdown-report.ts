/** A comparison as Markdown for a pull request: sentence, table, a chart that GitHub renders, conditions. */
import { METRIC_WORDS, type Measurement, type WorkloadMeasurement } from '../domain/evaluation.js';
import { duration } from '../publisher/figures.js';
import { code, inline } from '../publisher/hostile-text.js';
import type { Comparison } from './comparison.js';
import { pairedRatios } from './ratio-strip.js';
import { intervalKinds } from './text-report.js';
import { notableCosts, resultCells, verdictSentence } from './verdict-sentence.js';

const MOST_CHARTS = 4;
const NAME_CHARS = 60;

/** Without a break at the end. */
export function markdownReport(comparison: Comparison): string {
  const { base, head, benchmark, measurement } = comparison;
  const entry = benchmark.entry === null ? '' : `, entry ${code(benchmark.entry)}`;
  const costs = notableCosts(measurement.workloads);
  const charted = measurement.workloads.filter((workload) => workload.pairs > 0).slice(0, MOST_CHARTS);
  return [
    `**${inline(verdictSentence(comparison), 400)}**`,
    '',
    `${sideText(base)} against ${sideText(head)}, benchmark ${code(benchmark.name, 120)}${entry}.`,
    '',
    resultTable(measurement.workloads),
    ...charted.flatMap((workload) => ['', pairsChart(workload)]),
    ...(costs.length === 0
      ? []
      : ['', 'Other costs, base to head:', '', ...costs.map((line) => `- ${inline(line)}`)]),
    ...(comparison.output === 'different' ? ['', '**The output of head differs from that of base.**'] : []),
    ...confirmationLines(comparison.confirmation),
    '',
    '<details><summary>Conditions</summary>',
    '',
    ...conditions(comparison),
    '',
    '</details>',
  ].join('\n');
}

function sideText({ given, identity }: Comparison['base']): string {
  return given === identity ? code(given) : `${code(given)} (${code(identity)})`;
}

function resultTable(workloads: readonly WorkloadMeasurement[]): string {
  const rows = workloads.map((each) => resultCells(each, code(each.name, NAME_CHARS)).join(' | '));
  return [
    '| Workload | Verdict | Speed-up | Interval | Pairs | Base | Head | Control |',
    '| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |',
    ...rows.map((row) => `| ${row} |`),
  ].join('\n');
}

/** Mermaid's `xychart-beta`: bars are the pairs in the order measured, the line is 1.0x. */
export function pairsChart(workload: WorkloadMeasurement): string {
  const ratios = pairedRatios(workload.logRatios).filter((value) => Number.isFinite(value) && value > 0);
  const most = Math.max(1, ...ratios);
  const pairs = ratios.map((_, index) => index + 1);
  return [
    '```mermaid',
    'xychart-beta',
    `    title "${chartTitle(workload.name)}: speed-up of each pair, the line is 1.0x"`,
    `    x-axis "pair" [${pairs.join(', ')}]`,
    `    y-axis "base time / head time" 0 --> ${axisNumber(most * 1.1)}`,
    `    bar [${ratios.map(axisNumber).join(', ')}]`,
    `    line [${ratios.map(() => '1').join(', ')}]`,
    '```',
  ].join('\n');
}

/** Mermaid takes digits and a point, no exponent. */
function axisNumber(value: number): string {
  return value.toFixed(value >= 100 ? 0 : 3);
}

/** Quotes, line breaks and Mermaid's own signs have no place in a title. */
function chartTitle(name: string): string {
  const plain = name
    .replace(/[^\p{L}\p{N} ._/-]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return plain.slice(0, NAME_CHARS) || 'workload';
}

function confirmationLines(confirmation: Measurement | null): readonly string[] {
  if (confirmation === null) return [];
  return [
    '',
    `Measured once more, verdict **${confirmation.verdict}**:`,
    '',
    resultTable(confirmation.workloads),
  ];
}

function conditions({ measurement, place, output, seed }: Comparison): readonly string[] {
  const { environment } = measurement;
  const where =
    place === 'host'
      ? 'On the machine itself, not isolated'
      : `In Docker, runtime ${code(environment.runtime, 40)}, image ${code(environment.imageId.slice(0, 19))}`;
  const percent = (measurement.minimumEffect * 100).toFixed(1).replace(/\.0$/, '');
  return [
    `- ${METRIC_WORDS[measurement.metric]} per operation (median); speed-up is base time divided by head time, above 1 is faster; ${intervalKinds(measurement.workloads)}.`,
    `- ${measurement.runs} fresh processes in ${duration(measurement.seconds)}: base, head and an identical copy of base (the control) in random order, seed ${code(seed, 80)}.`,
    `- Smallest difference that counts: ${percent} %. Output ${output}.`,
    `- ${where},${environment.node === null ? '' : ` Node ${inline(environment.node, 40)},`} CPUs ${code(environment.cpuset, 40)}, load ${environment.load[0].toFixed(2)} before and ${environment.load[1].toFixed(2)} after.`,
  ];
}
