/** The text of `go test -bench`, or its `-json` stream of events around the same text. */
import { z } from 'zod';
import { median } from '../signed-rank.js';
import type { ReportSource } from './report-source.js';
import { type ReportedBenchmark, type ReportRow, reportedBenchmarks } from './reported-benchmarks.js';
import { firstLine, type ReportLine, reportLines } from './text-report.js';
import { NANOSECOND_MS } from './units.js';

interface GoLine {
  readonly text: string;
  /** Package of an event; null in plain text, where lines `pkg: …` say it. */
  readonly pkg: string | null;
  readonly place: ReportLine;
}

interface GoResult {
  readonly pkg: string;
  /** As printed, with the number of processors behind it. */
  readonly name: string;
  readonly nanoseconds: number;
  readonly place: ReportLine;
}

const EXAMPLE = '"BenchmarkName-8  1000  1234 ns/op"';
const eventSchema = z.object(
  { Output: z.string('text').optional(), Package: z.string('text').optional() },
  'an event of go test -json',
);

/**
 * Takes `ns/op`, which is the mean over one run of the loop: go gives no other. Several lines of one benchmark
 * (`-count`) give their median. The processors behind the name are left off where all lines have the same;
 * the package stands before it where there are several.
 */
export function readGoBench(source: ReportSource): readonly ReportedBenchmark[] {
  const results: GoResult[] = [];
  let pkg = '';
  for (const line of goLines(source)) {
    if (line.text.startsWith('pkg: ')) pkg = line.text.slice('pkg: '.length).trim();
    refuseFailure(line);
    const result = resultOf(line, line.pkg ?? pkg);
    if (result !== null) results.push(result);
  }
  if (results.length === 0)
    throw firstLine(source).refuse(`at least one benchmark, a line such as ${EXAMPLE}`);
  return reportedBenchmarks(rowsOf(results), firstLine(source));
}

/** The printed lines, put together again from events where the report is a stream of them. */
function* goLines(source: ReportSource): Generator<GoLine> {
  if (!firstLine(source).text.startsWith('{')) {
    for (const place of reportLines(source)) yield { text: place.text, pkg: null, place };
    return;
  }
  const begun = new Map<string, GoLine>();
  for (const place of reportLines(source)) {
    if (place.text.trim() === '') continue;
    const { Output: output = '', Package: pkg = '' } = place.json().as(eventSchema);
    const open = begun.get(pkg) ?? { text: '', pkg, place };
    const lines = `${open.text}${output}`.split('\n');
    const rest = lines.pop() ?? '';
    for (const text of lines) yield { ...open, text };
    begun.set(pkg, rest === '' ? { text: '', pkg, place } : { ...open, text: rest });
  }
  yield* begun.values();
}

function refuseFailure({ text, place }: GoLine): void {
  const named = /^\s{0,20}--- FAIL: (\S{1,300})/.exec(text)?.[1];
  if (named !== undefined) throw place.failed(named, 'go test says FAIL');
  if (text.startsWith('panic: ')) throw place.failed('(unknown)', text);
  if (/^FAIL(?:\s|$)/.test(text)) throw place.failed(text.slice('FAIL'.length).trim() || '(unknown)', text);
}

/** Name, iterations, then pairs of number and unit. Lines that are no results (a name alone, logs) give null. */
function resultOf({ text, place }: GoLine, pkg: string): GoResult | null {
  const fields = text.trim().split(/\s+/);
  const [name = '', iterations = ''] = fields;
  const unit = fields.indexOf('ns/op');
  const counted = /^\d{1,18}$/.test(iterations);
  if (unit === -1 && !(name.startsWith('Benchmark') && counted)) return null;
  if (unit !== -1 && !name.startsWith('Benchmark'))
    throw place.refuse(`a result that starts with the benchmark's name, such as ${EXAMPLE}`);
  const nanoseconds = /^\d{1,30}(?:\.\d{1,30})?$/.test(fields[unit - 1] ?? '') ? Number(fields[unit - 1]) : 0;
  if (unit < 3 || !counted || !(nanoseconds > 0))
    throw place.refuse(`a result with nanoseconds above 0, such as ${EXAMPLE}`);
  return { pkg, name, nanoseconds, place };
}

function rowsOf(results: readonly GoResult[]): readonly ReportRow[] {
  const suffixes = new Set(results.map(({ name }) => /-\d{1,6}$/.exec(name)?.[0] ?? ''));
  const [suffix = ''] = suffixes.size === 1 ? suffixes : [];
  const severalPackages = new Set(results.map(({ pkg }) => pkg)).size > 1;
  const byName = new Map<string, GoResult[]>();
  for (const result of results) {
    const plain = result.name.slice(0, result.name.length - suffix.length);
    const name = severalPackages ? `${result.pkg} ${plain}` : plain;
    const same = byName.get(name);
    if (same === undefined) byName.set(name, [result]);
    else same.push(result);
  }
  return [...byName].flatMap(([name, [first, ...more]]) => {
    if (first === undefined) return [];
    const nanoseconds = median([first, ...more].map((result) => result.nanoseconds));
    return [{ name, msPerOp: nanoseconds * NANOSECOND_MS, place: first.place }];
  });
}
