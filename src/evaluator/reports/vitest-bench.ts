/** vitest's `bench --outputJson`. */
import { z } from 'zod';
import { type JsonPlace, jsonReport } from './json-report.js';
import type { ReportSource } from './report-source.js';
import { type ReportedBenchmark, type ReportRow, reportedBenchmarks } from './reported-benchmarks.js';

const time = 'milliseconds per operation, a number above 0';
const groupSchema = z.object({ fullName: z.string('the full name of the group as text') }, 'a group');
const benchmarkSchema = z.object(
  {
    name: z.string('the name as text'),
    median: z.number(time).positive(time).optional(),
    mean: z.number(time).positive(time).optional(),
  },
  'an object with name and median',
);

/** Takes `median`, milliseconds; vitest before 1.5 gave none: then `mean`. One with neither threw an error. */
export function readVitestBench(source: ReportSource): readonly ReportedBenchmark[] {
  const files = jsonReport(source).member('files');
  const rows = files
    .items('a list of files')
    .flatMap((file) => file.member('groups').items('a list of groups'))
    .flatMap(rowsOf);
  return reportedBenchmarks(rows, files);
}

function rowsOf(group: JsonPlace): readonly ReportRow[] {
  const { fullName } = group.as(groupSchema);
  return group
    .member('benchmarks')
    .items('a list of benchmarks')
    .map((place) => {
      const { name, median, mean } = place.as(benchmarkSchema);
      const msPerOp = median ?? mean;
      if (msPerOp === undefined) throw place.failed(name, 'it has no figures');
      return { name: `${fullName} > ${name}`, msPerOp, place };
    });
}
