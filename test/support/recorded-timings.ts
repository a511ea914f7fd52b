/** Recorded timings of real runs (fixtures/timings) as windows for the gate: ratios without waiting for measurements. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Verdict } from '../../src/domain/evaluation.js';
import { CONTROL_BLOCKS, controlVeto, type GateRule, LOOKS, lookAt } from '../../src/evaluator/gate-rule.js';

export const TIMINGS_DIR = fileURLToPath(new URL('../../fixtures/timings/', import.meta.url));

const runSchema = z.object({
  cycle: z.number(),
  arm: z.number(),
  units: z.number(),
  wall_ns: z.array(z.number().positive()).min(1),
  cpu_us: z.array(z.number().positive()).min(1),
});

/** What the rules look at in one run, a fresh process of five batches. */
export interface RecordedRun {
  /** Microseconds of CPU, the smallest batch: what the gate's harness takes. */
  readonly cpuMin: number;
  /** Nanoseconds of wall time, mean and smallest batch: what most tools take. */
  readonly wallMean: number;
  readonly wallMin: number;
}

/** One cycle: the runs that were made back to back, by arm. */
export type Cycle = ReadonlyMap<number, RecordedRun>;

export interface Recording {
  /** Name of the file without `.jsonl`. */
  readonly name: string;
  /** Cycles in which every arm ran. */
  readonly cycles: readonly Cycle[];
  /** Units of work per arm: how much each program really does. */
  readonly units: ReadonlyMap<number, number>;
}

/** All recordings of a folder, by file name. Throws on a line that is no run. */
export async function readRecordings(directory: string): Promise<readonly Recording[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.jsonl')).sort();
  return Promise.all(files.map((file) => readRecording(file.replace(/\.jsonl$/, ''), directory)));
}

/** Reads `<name>.jsonl`. Throws on a line that is no run. */
export async function readRecording(name: string, directory: string = TIMINGS_DIR): Promise<Recording> {
  const text = await readFile(join(directory, `${name}.jsonl`), 'utf8');
  const cycles = new Map<number, Map<number, RecordedRun>>();
  const units = new Map<number, number>();
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const run = runSchema.parse(JSON.parse(line));
    const cycle = cycles.get(run.cycle) ?? new Map<number, RecordedRun>();
    cycles.set(
      run.cycle,
      cycle.set(run.arm, {
        cpuMin: Math.min(...run.cpu_us),
        wallMean: run.wall_ns.reduce((sum, each) => sum + each, 0) / run.wall_ns.length,
        wallMin: Math.min(...run.wall_ns),
      }),
    );
    units.set(run.arm, run.units);
  }
  const whole = [...cycles.values()].filter((cycle) => cycle.size === units.size);
  if (whole.length === 0) throw new Error(`${name}.jsonl has no cycle in which every arm ran.`);
  return { name, cycles: whole, units };
}

/** The two arms that do the same, the most work: base and its copy. Throws when there are no two. */
export function sameArms(recording: Recording): readonly [number, number] {
  const most = Math.max(...recording.units.values());
  const [first, second] = [...recording.units].filter(([, units]) => units === most).map(([arm]) => arm);
  if (first === undefined || second === undefined)
    throw new Error(`${recording.name} has no two arms of the same program.`);
  return [first, second];
}

/** The run of an arm in a cycle, around the end. */
export function runAt(recording: Recording, cycle: number, arm: number): RecordedRun {
  const run = recording.cycles[cycle % recording.cycles.length]?.get(arm);
  if (run === undefined) throw new Error(`${recording.name} has no arm ${arm}.`);
  return run;
}

export interface WindowArms {
  readonly base: number;
  readonly patch: number;
  /** Null plays a measurement without control copy. */
  readonly copy: number | null;
}

export interface WindowResult {
  readonly verdict: Verdict;
  /** Whether the control forbade a verdict: the product measures again then. */
  readonly vetoed: boolean;
  readonly pairs: number;
  /** Processes on all sides. */
  readonly runs: number;
}

/** Plays one measurement from `start` on, cycle by cycle (around the end), until the rule decides. */
export function playWindow(
  recording: Recording,
  start: number,
  arms: WindowArms,
  rule: GateRule,
): WindowResult {
  const logRatio = (arm: number) => (_: unknown, i: number) =>
    Math.log(runAt(recording, start + i, arm).cpuMin / runAt(recording, start + i, arms.base).cpuMin);
  for (const pairs of LOOKS) {
    const look = lookAt(Array.from({ length: pairs }, logRatio(arms.patch)), rule);
    if (look.verdict === null) continue;
    const runs = 2 * pairs + (arms.copy === null ? 0 : CONTROL_BLOCKS);
    const control = arms.copy === null ? [] : Array.from({ length: CONTROL_BLOCKS }, logRatio(arms.copy));
    const vetoed =
      arms.copy !== null && look.verdict !== 'inconclusive' && controlVeto(control, look.estimate).vetoed;
    return { verdict: vetoed ? 'inconclusive' : look.verdict, vetoed, pairs, runs };
  }
  throw new Error('The last look must decide.');
}

/** A measurement as the product makes it: one that its control vetoed is made again, on the cycles that follow. */
export function playMeasurement(
  recording: Recording,
  start: number,
  arms: WindowArms,
  rule: GateRule,
  vetoRetries: number,
): WindowResult {
  let window = playWindow(recording, start, arms, rule);
  let at = start;
  let runs = window.runs;
  for (let retry = 0; retry < vetoRetries && window.vetoed; retry++) {
    at += window.pairs;
    window = playWindow(recording, at, arms, rule);
    runs += window.runs;
  }
  return { ...window, runs };
}
