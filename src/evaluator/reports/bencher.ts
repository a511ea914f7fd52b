/** The Bencher Metric Format: benchmarks by name, each with measures by name. */
import { z } from 'zod';
import { type JsonPlace, jsonReport } from './json-report.js';
import type { ReportSource } from './report-source.js';
import { type ReportedBenchmark, type ReportRow, reportedBenchmarks } from './reported-benchmarks.js';
import { NANOSECOND_MS, SECOND_MS } from './units.js';

const above0 = 'a number above 0';
const measureSchema = z.object({ value: z.number(above0).positive(above0) }, 'an object with value');

/**
 * Takes `latency.value`, by the format's definition in nanoseconds, else the inverse of `throughput.value`,
 * operations per second. The format does not say which statistic a value is: that is the writer's choice.
 * Benchmarks with neither measure (sizes, say) are left out.
 */
export function readBencher(source: ReportSource): readonly ReportedBenchmark[] {
  const report = jsonReport(source);
  const rows = report
    .members('an object of benchmarks by name')
    .flatMap(([name, place]) => rowsOf(name, place));
  return reportedBenchmarks(rows, report);
}

function rowsOf(name: string, place: JsonPlace): readonly ReportRow[] {
  const measures = new Map(place.members('an object of measures by name'));
  const latency = measures.get('latency');
  if (latency !== undefined)
    return [{ name, msPerOp: latency.as(measureSchema).value * NANOSECOND_MS, place: latency }];
  const throughput = measures.get('throughput');
  if (throughput !== undefined)
    return [{ name, msPerOp: SECOND_MS / throughput.as(measureSchema).value, place: throughput }];
  return [];
}
