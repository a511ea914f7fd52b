/** tinybench's tasks, results or table, written as JSON by the benchmark itself. */
import { z } from 'zod';
import { median } from '../signed-rank.js';
import { type JsonPlace, jsonReport } from './json-report.js';
import type { ReportSource } from './report-source.js';
import { type ReportedBenchmark, type ReportRow, reportedBenchmarks } from './reported-benchmarks.js';
import { NANOSECOND_MS } from './units.js';

const NAMED = 'a task with its name: { name, result }, or a row of bench.table()';
const TIME = 'milliseconds per operation, a number above 0';
const nameSchema = z.object({ name: z.string(NAMED) }, NAMED);
const timeSchema = z.number(TIME).positive(TIME);
const FAILED_STATES: ReadonlySet<unknown> = new Set([
  'errored',
  'aborted',
  'aborted-with-statistics',
  'not-started',
]);
const NAME_KEYS = ['Task name', 'Task Name'];
/** Columns of `bench.table()` from version 2 to 6, the median before the mean. */
const TIME_KEYS = [
  'Latency med (ns)',
  'Latency median (ns)',
  'Latency avg (ns)',
  'Latency average (ns)',
  'Average Time (ns)',
];

/**
 * Takes the median of the latencies: `latency.p50` (version 3 and later), the median of `samples` (version 2),
 * the table's median column; the mean where a report holds no median.
 * Understood are a list of `{ name, result }`, of results with a `name`, of rows of `bench.table()`;
 * the same under `tasks` or `results`; and an object of results by name.
 */
export function readTinybench(source: ReportSource): readonly ReportedBenchmark[] {
  const root = jsonReport(source);
  const list = listOf(root);
  const rows =
    list === null
      ? root.members('a list of tasks').map(([name, place]) => rowOfResult(name, place))
      : list.items('a list of tasks').map(rowOf);
  return reportedBenchmarks(rows, list ?? root);
}

function listOf(root: JsonPlace): JsonPlace | null {
  const places = [root, root.member('tasks'), root.member('results')];
  return places.find((place) => Array.isArray(place.value)) ?? null;
}

function rowOf(task: JsonPlace): ReportRow {
  const nameKey = NAME_KEYS.find((key) => typeof task.member(key).value === 'string');
  if (nameKey !== undefined) return rowOfTable(String(task.member(nameKey).value), task);
  const { name } = task.as(nameSchema);
  if ('result' in task.as(z.looseObject({}))) return rowOfResult(name, task.member('result'));
  return rowOfResult(name, task);
}

function rowOfResult(name: string, result: JsonPlace): ReportRow {
  const error = result.member('error');
  if (error.value !== undefined && error.value !== null) throw result.failed(name, 'it threw an error');
  const state = result.member('state').value;
  if (FAILED_STATES.has(state)) throw result.failed(name, `its state is ${String(state)}`);
  if (result.member('aborted').value === true) throw result.failed(name, 'it was aborted');
  const latency = result.member('latency');
  const figures = latency.value === undefined ? result : latency;
  const samples = figures.member('samples');
  const p50 = figures.member('p50');
  if (p50.value !== undefined) return { name, msPerOp: p50.as(timeSchema), place: p50 };
  if (Array.isArray(samples.value) && samples.value.length > 0)
    return { name, msPerOp: medianOfSamples(samples), place: samples };
  const mean = figures.member('mean');
  return { name, msPerOp: mean.as(timeSchema), place: mean };
}

function medianOfSamples(samples: JsonPlace): number {
  const values = samples.as(z.array(z.unknown()));
  const times = values.filter((value) => typeof value === 'number');
  if (times.length < values.length) throw samples.refuse('a list of milliseconds');
  return median(times);
}

function rowOfTable(name: string, row: JsonPlace): ReportRow {
  const error = row.member('Error').value;
  if (error !== undefined) throw row.failed(name, String(error));
  const key = TIME_KEYS.find((each) => row.member(each).value !== undefined);
  if (key === undefined) throw row.refuse(`a row with one of the columns ${TIME_KEYS.join(', ')}`);
  const cell = row.member(key);
  const nanoseconds = typeof cell.value === 'number' ? cell.value : numberOfCell(cell.value);
  if (nanoseconds === null) throw cell.refuse('nanoseconds such as "121387 ± 10980"');
  return { name, msPerOp: nanoseconds * NANOSECOND_MS, place: cell };
}

/** The number before `±`, with or without separators of thousands. */
function numberOfCell(cell: unknown): number | null {
  if (typeof cell !== 'string') return null;
  const [number = ''] = cell.split('±');
  const plain = number.trim();
  return /^\d[\d,]{0,30}(?:\.\d{1,30})?(?:e[+-]?\d{1,3})?$/.test(plain)
    ? Number(plain.replaceAll(',', ''))
    : null;
}
