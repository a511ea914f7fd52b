/** pytest-benchmark's `--benchmark-json`. */
import { z } from 'zod';
import { type JsonPlace, jsonReport } from './json-report.js';
import type { ReportSource } from './report-source.js';
import { type ReportedBenchmark, type ReportRow, reportedBenchmarks } from './reported-benchmarks.js';
import { SECOND_MS } from './units.js';

const median = 'the median in seconds, a number above 0';
const benchmarkSchema = z.object(
  {
    fullname: z.string('the full name of the test as text'),
    stats: z.object({ median: z.number(median).positive(median) }, 'an object with median'),
  },
  'an object with fullname and stats',
);

/** Takes `stats.median`, seconds per round's iteration. A failed test has no entry: its benchmark is missing. */
export function readPytestBenchmark(source: ReportSource): readonly ReportedBenchmark[] {
  const benchmarks = jsonReport(source).member('benchmarks');
  return reportedBenchmarks(benchmarks.items('a list of benchmarks').map(rowOf), benchmarks);
}

function rowOf(place: JsonPlace): ReportRow {
  const { fullname, stats } = place.as(benchmarkSchema);
  return { name: fullname, msPerOp: stats.median * SECOND_MS, place };
}
