/** Criterion: messages of cargo-criterion, its text for people, and the text of libtest's benches. */
import { z } from 'zod';
import type { ReportSource } from './report-source.js';
import { type ReportedBenchmark, type ReportRow, reportedBenchmarks } from './reported-benchmarks.js';
import { firstLine, type ReportLine, reportLines } from './text-report.js';
import { msOfUnit, NANOSECOND_MS } from './units.js';

const ESTIMATE = 'the estimate of the median, a number above 0';
const EXAMPLES =
  '"norm  time:   [124.20 ns 125.31 ns 126.50 ns]", "test norm ... bench: 125 ns/iter (+/- 3)" or a JSON message';
const completeSchema = z.object(
  {
    id: z.string('the id of the benchmark as text'),
    median: z.object(
      { estimate: z.number(ESTIMATE).positive(ESTIMATE), unit: z.string('ns') },
      'an object with estimate and unit',
    ),
  },
  'a message with id and median',
);
const messageSchema = z.object(
  { reason: z.string('the kind of message as text') },
  'a message with its reason',
);
const BRACKETS = /^\[(\S{1,40} \S{1,5}) (\S{1,40} \S{1,5}) (\S{1,40} \S{1,5})\]$/;

/**
 * Takes `median.estimate` of cargo-criterion's messages. The text for people holds no median: of its three figures
 * the middle one (the slope's or mean's estimate), and of libtest's the figure before `ns/iter`, its median.
 */
export function readCriterion(source: ReportSource): readonly ReportedBenchmark[] {
  const rows: ReportRow[] = [];
  let before = '';
  for (const line of reportLines(source)) {
    const row = rowOfMessage(line) ?? rowOfLibtest(line) ?? rowOfText(line, before);
    if (row !== null) rows.push(row);
    if (line.text.trim() !== '') before = line.text.trim();
  }
  if (rows.length === 0) throw firstLine(source).refuse(`at least one benchmark: ${EXAMPLES}`);
  return reportedBenchmarks(rows, firstLine(source));
}

function rowOfMessage(line: ReportLine): ReportRow | null {
  if (!line.text.startsWith('{') || !line.text.includes('"reason"')) return null;
  const place = line.json();
  if (place.as(messageSchema).reason !== 'benchmark-complete') return null;
  const { id, median } = place.as(completeSchema);
  const unit = msOfUnit(median.unit);
  if (unit === null) throw place.member('median').member('unit').refuse('a unit of time such as ns');
  return { name: id, msPerOp: median.estimate * unit, place };
}

function rowOfLibtest(line: ReportLine): ReportRow | null {
  const text = line.text.trim();
  if (!text.startsWith('test ')) return null;
  const dots = text.lastIndexOf(' ... ');
  if (dots === -1) return null;
  const name = text.slice('test '.length, dots);
  const outcome = text.slice(dots + ' ... '.length);
  if (outcome.startsWith('FAILED')) throw line.failed(name, outcome);
  if (!outcome.startsWith('bench:')) return null;
  const [, number = '', unit = ''] = outcome.split(/\s+/);
  const value = numberOf(number.replaceAll(',', ''));
  if (value === null || unit !== 'ns/iter')
    throw line.refuse('a figure such as "bench: 1,234 ns/iter (+/- 56)"');
  return { name, msPerOp: value * NANOSECOND_MS, place: line };
}

/** `name  time:   [low estimate high]`; a long name stands on the line before. */
function rowOfText(line: ReportLine, before: string): ReportRow | null {
  const at = /(?:^|\s)time:\s{1,20}\[/.exec(line.text)?.index;
  // Under `change:` stand percentages.
  if (at === undefined || line.text.trim().endsWith('%]') || line.text.includes('%] (p =')) return null;
  const expected = 'three times such as "[124.20 ns 125.31 ns 126.50 ns]"';
  const time = line.text.slice(line.text.indexOf('[', at)).trim();
  const [value, unit = ''] = (BRACKETS.exec(time)?.[2] ?? '').split(' ');
  const figure = numberOf(value ?? '');
  const ms = msOfUnit(unit);
  if (figure === null || ms === null) throw line.refuse(expected);
  const name = line.text.slice(0, at).trim() || before;
  if (name === '') throw line.refuse('the name of the benchmark before its times');
  return { name, msPerOp: figure * ms, place: line };
}

function numberOf(text: string): number | null {
  const value = /^\d{1,30}(?:\.\d{0,30})?(?:e[+-]?\d{1,3})?$/.test(text) ? Number(text) : 0;
  return value > 0 ? value : null;
}
