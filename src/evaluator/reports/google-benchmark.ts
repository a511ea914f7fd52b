/** Google Benchmark's `--benchmark_format=json` and `--benchmark_out`. */
import { z } from 'zod';
import { median } from '../signed-rank.js';
import { type JsonPlace, jsonReport } from './json-report.js';
import type { ReportSource } from './report-source.js';
import { type ReportedBenchmark, type ReportRow, reportedBenchmarks } from './reported-benchmarks.js';
import { msOfUnit } from './units.js';

const time = 'a number above 0';
const timesSchema = z.object({
  cpu_time: z.number(time).positive(time),
  real_time: z.number(time).positive(time),
  time_unit: z.string('ns, us, ms or s'),
});
const entrySchema = z.object(
  {
    run_name: z.string('the name of the run as text (Google Benchmark 1.5 or newer)'),
    run_type: z.enum(['iteration', 'aggregate'], 'iteration or aggregate (Google Benchmark 1.5 or newer)'),
    aggregate_name: z.string('the name of the aggregate as text').optional(),
    error_occurred: z.boolean('true or false').optional(),
    error_message: z.string('a message as text').optional(),
    skipped: z.boolean('true or false').optional(),
  },
  'an object with run_name and run_type',
);

interface Times {
  readonly cpuMs: number;
  readonly realMs: number;
  readonly place: JsonPlace;
}

/**
 * Takes `cpu_time` of the median aggregate, else the median over the repetitions; `real_time` where the benchmark
 * asks for it in its name (`/real_time`, `/manual_time`). Skipped benchmarks are left out.
 */
export function readGoogleBenchmark(source: ReportSource): readonly ReportedBenchmark[] {
  const benchmarks = jsonReport(source).member('benchmarks');
  const repetitions = new Map<string, Times[]>();
  const medians = new Map<string, Times[]>();
  for (const place of benchmarks.items('a list of benchmarks')) {
    const entry = place.as(entrySchema);
    if (entry.error_occurred) throw place.failed(entry.run_name, entry.error_message ?? 'an error occurred');
    if (entry.skipped) continue;
    if (entry.run_type === 'iteration') {
      const times = repetitions.get(entry.run_name);
      if (times === undefined) repetitions.set(entry.run_name, [timesOf(place)]);
      else times.push(timesOf(place));
    } else if (entry.aggregate_name === 'median') {
      medians.set(entry.run_name, [timesOf(place)]);
    }
  }
  const chosen = new Map([...repetitions, ...medians]);
  const rows = [...chosen].map(([name, times]) => rowOf(name, times, benchmarks));
  return reportedBenchmarks(rows, benchmarks);
}

function timesOf(place: JsonPlace): Times {
  const times = place.as(timesSchema);
  const unit = msOfUnit(times.time_unit);
  if (unit === null) throw place.member('time_unit').refuse('ns, us, ms or s');
  return { cpuMs: times.cpu_time * unit, realMs: times.real_time * unit, place };
}

function rowOf(name: string, times: readonly Times[], benchmarks: JsonPlace): ReportRow {
  const cpuMs = median(times.map((each) => each.cpuMs));
  const realMs = median(times.map((each) => each.realMs));
  const place = times[0]?.place ?? benchmarks;
  const wantsRealTime = name.split('/').some((part) => part === 'real_time' || part === 'manual_time');
  return wantsRealTime ? { name, msPerOp: realMs, place } : { name, msPerOp: cpuMs, wallMs: realMs, place };
}
