/** Reads the report of a known benchmark tool: text in, milliseconds per operation by name out. */
import type { ReportFormat } from '../../domain/plan.js';
import { readBencher } from './bencher.js';
import { readCriterion } from './criterion.js';
import { readGoBench } from './go-bench.js';
import { readGoogleBenchmark } from './google-benchmark.js';
import { readHyperfine } from './hyperfine.js';
import { readJmh } from './jmh.js';
import { readMitata } from './mitata.js';
import { readPytestBenchmark } from './pytest-benchmark.js';
import { ReportSource } from './report-source.js';
import type { ReportedBenchmark } from './reported-benchmarks.js';
import { readTinybench } from './tinybench.js';
import { readVitestBench } from './vitest-bench.js';

export { REPORT_HINTS } from './report-hints.js';
export type { ReportedBenchmark } from './reported-benchmarks.js';

/** Longest report, in UTF-16 units: samples of pytest-benchmark and mitata are written out by the million. */
export const MAX_REPORT_CHARS = 32 * 1024 * 1024;

const READERS: Readonly<Record<ReportFormat, (source: ReportSource) => readonly ReportedBenchmark[]>> = {
  hyperfine: readHyperfine,
  'go-bench': readGoBench,
  'pytest-benchmark': readPytestBenchmark,
  criterion: readCriterion,
  'vitest-bench': readVitestBench,
  tinybench: readTinybench,
  mitata: readMitata,
  'google-benchmark': readGoogleBenchmark,
  jmh: readJmh,
  bencher: readBencher,
};

/**
 * The 1 to 200 benchmarks of a report, in its order, with unique names of 1 to 200 characters that are the same in
 * every run of the same tool on the same benchmarks. Which of a tool's figures is taken, and why, says its reader.
 *
 * @throws StepFailed `REPORT_UNREADABLE` with the first place that is not as expected, what was expected and what
 * came; `REPORT_BENCHMARK_FAILED` with the name of a benchmark that the tool marks as failed.
 */
export function readReport(format: ReportFormat, text: string): readonly ReportedBenchmark[] {
  const source = new ReportSource(format, text.length > MAX_REPORT_CHARS ? '' : text);
  const start = { line: 1, column: 1, path: null };
  if (text.length > MAX_REPORT_CHARS) {
    const came = `${text.length} characters; leave samples out of the report`;
    throw source.unreadable(start, `at most ${MAX_REPORT_CHARS} characters`, came);
  }
  if (text.trim() === '') throw source.unreadable(start, 'a report', 'an empty text');
  return READERS[format](source);
}
