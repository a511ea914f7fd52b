/** Turns the rows that a reader found into benchmarks with unique, bounded names and sane figures. */
import { createHash } from 'node:crypto';
import type { ReportPlace } from './report-source.js';

/** A benchmark of a report. */
export interface ReportedBenchmark {
  /** Unique in the report, the same in every run of the tool, 1 to 200 characters. */
  readonly name: string;
  /** Milliseconds per operation, positive and finite. */
  readonly msPerOp: number;
  /** Wall milliseconds per operation, where the tool gives them beside the CPU time that `msPerOp` is. */
  readonly wallMs?: number;
}

/** A benchmark as found; the place says where, for errors. */
export interface ReportRow extends ReportedBenchmark {
  readonly place: ReportPlace;
}

const MAX_BENCHMARKS = 200;
const MAX_NAME_CHARS = 200;
const NAME_DIGEST_CHARS = 8;

/** Checks every row; `whole` is blamed where there is none. */
export function reportedBenchmarks(
  rows: readonly ReportRow[],
  whole: ReportPlace,
): readonly ReportedBenchmark[] {
  if (rows.length === 0) throw whole.refuse('at least one benchmark', 'a report without any');
  const names = new Set<string>();
  return rows.map((row, index) => {
    if (index >= MAX_BENCHMARKS)
      throw row.place.refuse(`at most ${MAX_BENCHMARKS} benchmarks`, `one more; select some by a filter`);
    const name = uniqueName(plainName(row), names);
    names.add(name);
    const msPerOp = checkedMs(row.msPerOp, row.place);
    return row.wallMs === undefined
      ? { name, msPerOp }
      : { name, msPerOp, wallMs: checkedMs(row.wallMs, row.place) };
  });
}

function checkedMs(value: number, place: ReportPlace): number {
  if (Number.isFinite(value) && value > 0) return value;
  throw place.refuse('a time per operation above 0', `one of ${value} ms`);
}

function plainName(row: ReportRow): string {
  const plain = row.name
    .replace(/\p{Cs}/gu, '\ufffd')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  if (plain === '') throw row.place.refuse('a benchmark with a name', 'an empty name');
  return bounded(plain);
}

/** A long name keeps its start; a digest of the whole keeps it apart from others that start like it. */
function bounded(name: string, limit = MAX_NAME_CHARS): string {
  if (name.length <= limit) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, NAME_DIGEST_CHARS);
  const start = name.slice(0, limit - NAME_DIGEST_CHARS - 1).replace(/[\ud800-\udbff]$/, '');
  return `${start}~${digest}`;
}

/** Repeated names get numbers in the order of the report. */
function uniqueName(name: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : ` #${number}`;
    const candidate = `${bounded(name, MAX_NAME_CHARS - suffix.length)}${suffix}`;
    if (!taken.has(candidate)) return candidate;
  }
}
