/** hyperfine's `--export-json`. */
import { z } from 'zod';
import { type JsonPlace, jsonReport } from './json-report.js';
import type { ReportSource } from './report-source.js';
import { type ReportedBenchmark, type ReportRow, reportedBenchmarks } from './reported-benchmarks.js';
import { SECOND_MS } from './units.js';

const resultSchema = z.object(
  {
    command: z.string('the command as text'),
    median: z
      .number('the median in seconds, a number above 0')
      .positive('the median in seconds, a number above 0'),
    exit_codes: z.array(z.unknown(), 'a list of exit codes').optional(),
  },
  'an object with command and median',
);

/** Takes `median`, seconds of wall time: given always, and less moved by one disturbed run than the mean. */
export function readHyperfine(source: ReportSource): readonly ReportedBenchmark[] {
  const report = jsonReport(source);
  const results = report.member('results');
  return reportedBenchmarks(results.items('a list of results').map(rowOf), results);
}

/** A command that may fail (`--ignore-failure`) carries its exit code in the name: ending otherwise is another benchmark. */
function rowOf(place: JsonPlace): ReportRow {
  const { command, median, exit_codes: exitCodes = [] } = place.as(resultSchema);
  const ends = [...new Set(exitCodes)];
  const [end = 0] = ends;
  if (ends.length > 1)
    throw place.failed(command, `its runs ended with different exit codes, ${ends.join(', ')}`);
  if (typeof end !== 'number') throw place.failed(command, 'it was ended by a signal');
  const name = end === 0 ? command : `${command} (exit code ${end})`;
  return { name, msPerOp: median * SECOND_MS, place };
}
