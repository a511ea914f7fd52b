/** A comparison as plain text for a terminal: sides, table, strip of the pairs, verdict, conditions. */
import { METRIC_WORDS, type WorkloadMeasurement } from '../domain/evaluation.js';
import { duration, ratio } from '../publisher/figures.js';
import { shorten } from '../publisher/hostile-text.js';
import type { Comparison } from './comparison.js';
import { ratioStrip, STRIP_LEGEND } from './ratio-strip.js';
import { notableCosts, resultCells, verdictSentence } from './verdict-sentence.js';

const NAME_CHARS = 40;
const HEADINGS = ['Workload', 'Verdict', 'Speed-up', 'Interval', 'Pairs', 'Base', 'Head', 'Control'];
/** Words stand at the left of their column, numbers at the right. */
const LEFT_COLUMNS = new Set([0, 1, 3]);

/** Lines without a break at the end. */
export function textReport(comparison: Comparison): string {
  const { measurement, benchmark } = comparison;
  const entry = benchmark.entry === null ? '' : `, entry ${benchmark.entry}`;
  const costs = notableCosts(measurement.workloads);
  return [
    ...aligned([
      ['base', sideText(comparison.base)],
      ['head', sideText(comparison.head)],
      ['benchmark', `${plainName(benchmark.name, 120)}${entry}`],
    ]),
    '',
    ...resultTable(measurement.workloads),
    '',
    STRIP_LEGEND,
    ...stripLines(measurement.workloads),
    '',
    ...(costs.length === 0 ? [] : ['Other costs, base to head:', ...costs.map((line) => `  ${line}`), '']),
    ...(comparison.output === 'different' ? ['The output of head differs from that of base.', ''] : []),
    verdictSentence(comparison),
    ...confirmationLines(comparison),
    '',
    ...conditionLines(comparison),
  ].join('\n');
}

function sideText(side: Comparison['base']): string {
  return side.given === side.identity ? side.given : `${side.given} (${side.identity})`;
}

function resultTable(workloads: readonly WorkloadMeasurement[]): readonly string[] {
  const rows = workloads.map((each) => resultCells(each, plainName(each.name, NAME_CHARS)));
  return aligned([HEADINGS, ...rows], LEFT_COLUMNS);
}

function stripLines(workloads: readonly WorkloadMeasurement[]): readonly string[] {
  return aligned(
    workloads.map((workload) => {
      const strip = ratioStrip(workload.logRatios);
      return [plainName(workload.name, NAME_CHARS), ratio(strip.low), strip.text, ratio(strip.high)];
    }),
    new Set([0, 2, 3]),
  );
}

function confirmationLines({ confirmation }: Comparison): readonly string[] {
  if (confirmation === null) return [];
  const found = confirmation.workloads.map(
    (each) => `${plainName(each.name, NAME_CHARS)} ${ratio(each.speedup)}`,
  );
  return [`Measured once more: ${confirmation.verdict} (${found.join(', ')}).`];
}

/** Under which conditions it was measured, so that somebody else can judge it. */
function conditionLines({ measurement, place, output, seed }: Comparison): readonly string[] {
  const { environment } = measurement;
  const where =
    place === 'host'
      ? 'On this machine itself, not isolated'
      : `In Docker, runtime ${environment.runtime}, image ${environment.imageId.slice(0, 19)}`;
  const percent = (measurement.minimumEffect * 100).toFixed(1).replace(/\.0$/, '');
  return [
    `${capital(METRIC_WORDS[measurement.metric])} per operation (median); ${intervalKinds(measurement.workloads)}; smallest difference that counts ${percent} %.`,
    `${measurement.runs} fresh processes in ${duration(measurement.seconds)}, seed ${plainName(seed, 60)}; output ${output}.`,
    `${where};${environment.node === null ? '' : ` Node ${plainName(environment.node, 20)},`} CPUs ${environment.cpuset}, load ${environment.load[0].toFixed(2)} before and ${environment.load[1].toFixed(2)} after.`,
  ];
}

export function intervalKinds(workloads: readonly WorkloadMeasurement[]): string {
  return `interval: ${[...new Set(workloads.map((workload) => workload.intervalKind))].join(' or ')}`;
}

function capital(text: string): string {
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;
}

/** Names come from benchmarks and must not steer the terminal. */
function plainName(text: string, max: number): string {
  return shorten(text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim(), max);
}

/** Columns two spaces apart; numbers of `left` start at the left edge, default all. */
export function aligned(rows: readonly (readonly string[])[], left?: ReadonlySet<number>): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return left === undefined || left.has(column) ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
