/** mitata's JSON format. */
import { z } from 'zod';
import { type JsonPlace, jsonReport } from './json-report.js';
import type { ReportSource } from './report-source.js';
import { type ReportedBenchmark, type ReportRow, reportedBenchmarks } from './reported-benchmarks.js';
import { NANOSECOND_MS } from './units.js';

const median = 'the median (p50) in nanoseconds, a number above 0';
const layoutSchema = z.object({ name: z.string('the name of the group or null').nullable() }, 'a group');
const trialSchema = z.object({ group: z.int('the index of the group') }, 'a benchmark');
const nameSchema = z.object({ name: z.string('the name as text') }, 'an object with name and stats');
const errorSchema = z.object({ error: z.looseObject({ message: z.string().optional() }) });
const statsSchema = z.object(
  { stats: z.object({ p50: z.number(median).positive(median) }, 'an object with p50') },
  'an object with name and stats',
);

/** Takes `stats.p50`, the median in nanoseconds per call. */
export function readMitata(source: ReportSource): readonly ReportedBenchmark[] {
  const report = jsonReport(source);
  const groups = report
    .member('layout')
    .items('a list of groups')
    .map((group) => group.as(layoutSchema).name);
  const benchmarks = report.member('benchmarks');
  const rows = benchmarks.items('a list of benchmarks').flatMap((trial) => {
    const group = groups[trial.as(trialSchema).group] ?? null;
    return trial
      .member('runs')
      .items('a list of runs')
      .map((run) => rowOf(group, run));
  });
  return reportedBenchmarks(rows, benchmarks);
}

function rowOf(group: string | null, place: JsonPlace): ReportRow {
  const { name } = place.as(nameSchema);
  const error = errorSchema.safeParse(place.value);
  if (error.success) throw place.failed(name, error.data.error.message ?? 'it threw an error');
  const msPerOp = place.as(statsSchema).stats.p50 * NANOSECOND_MS;
  return { name: group === null ? name : `${group} > ${name}`, msPerOp, place };
}
