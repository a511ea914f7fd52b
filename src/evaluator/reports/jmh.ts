/** JMH's `-rf json`. */
import { z } from 'zod';
import { type JsonPlace, jsonReport } from './json-report.js';
import type { ReportSource } from './report-source.js';
import { type ReportedBenchmark, type ReportRow, reportedBenchmarks } from './reported-benchmarks.js';
import { msOfUnit } from './units.js';

const score = 'the score, a number above 0';
const entrySchema = z.object(
  {
    benchmark: z.string('the name of the benchmark as text'),
    mode: z.string('the mode as text'),
    params: z.record(z.string(), z.unknown(), 'an object of parameters').optional(),
    primaryMetric: z.object(
      { score: z.number(score).positive(score), scoreUnit: z.string('the unit as text') },
      'an object with score and scoreUnit',
    ),
  },
  'an object with benchmark, mode and primaryMetric',
);
const unit = 'a unit such as ns/op or ops/s';

/**
 * Takes `primaryMetric.score`, the mean of all iterations of all forks: the figure that JMH itself stands by;
 * throughput is inverted. Modes of one benchmark are benchmarks of their own. JMH leaves out what failed.
 */
export function readJmh(source: ReportSource): readonly ReportedBenchmark[] {
  const report = jsonReport(source);
  const entries = report.items('a list of results').map((place) => ({ place, entry: place.as(entrySchema) }));
  const modes = new Map<string, Set<string>>();
  for (const { entry } of entries)
    modes.set(entry.benchmark, (modes.get(entry.benchmark) ?? new Set()).add(entry.mode));
  const rows = entries.map(({ place, entry }) => {
    const mode = (modes.get(entry.benchmark)?.size ?? 1) > 1 ? ` [${entry.mode}]` : '';
    const name = `${entry.benchmark}${paramWords(entry.params ?? {})}${mode}`;
    return { name, msPerOp: msPerOp(place.member('primaryMetric'), entry.primaryMetric), place };
  });
  return reportedBenchmarks(rows satisfies readonly ReportRow[], report);
}

function msPerOp(place: JsonPlace, metric: { readonly score: number; readonly scoreUnit: string }): number {
  const [above = '', below = '', ...more] = metric.scoreUnit.split('/');
  const ms = msOfUnit(above === 'ops' ? below : above);
  if (ms === null || more.length > 0 || (above !== 'ops' && below !== 'op'))
    throw place.member('scoreUnit').refuse(unit);
  return above === 'ops' ? ms / metric.score : metric.score * ms;
}

function paramWords(params: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(params).map(([name, value]) => `${name}=${String(value)}`);
  return words.length === 0 ? '' : ` (${words.join(', ')})`;
}
