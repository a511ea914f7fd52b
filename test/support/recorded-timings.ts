/** Recorded timings of real runs (fixtures/timings) as windows for the gate: ratios without waiting for measurements. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Verdict } from '../../src/domain/evaluation.js';
import { CONTROL_BLOCKS, controlVeto, type GateRule, LOOKS, lookAt } from '../../src/evaluator/gate-rule.js';

const TIMINGS_DIR = fileURLToPath(new URL('../../fixtures/timings/', import.meta.url));

const runSchema = z.object({
  cycle: z.number(),
  arm: z.number(),
  units: z.number(),
  cpu_us: z.array(z.number()).min(1),
});

/** One cycle: the minimum CPU time in microseconds of each arm's run, by arm. */
export type Cycle = ReadonlyMap<number, number>;

export interface Recording {
  readonly cycles: readonly Cycle[];
  /** Units of work per arm: how much each program really does. */
  readonly units: ReadonlyMap<number, number>;
}

/** Reads `<name>.jsonl`. Throws on a line that is no run. */
export async function readRecording(name: string): Promise<Recording> {
  const text = await readFile(join(TIMINGS_DIR, `${name}.jsonl`), 'utf8');
  const cycles = new Map<number, Map<number, number>>();
  const units = new Map<number, number>();
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const run = runSchema.parse(JSON.parse(line));
    const cycle = cycles.get(run.cycle) ?? new Map<number, number>();
    cycles.set(run.cycle, cycle.set(run.arm, Math.min(...run.cpu_us)));
    units.set(run.arm, run.units);
  }
  return { cycles: [...cycles.values()], units };
}

export interface WindowArms {
  readonly base: number;
  readonly patch: number;
  /** Null plays a measurement without control copy. */
  readonly copy: number | null;
}

export interface WindowResult {
  readonly verdict: Verdict;
  readonly runs: number;
}

/** Plays one measurement from `start` on, cycle by cycle (around the end), until the rule decides. */
export function playWindow(
  recording: Recording,
  start: number,
  arms: WindowArms,
  rule: GateRule,
): WindowResult {
  const at = (i: number, arm: number) =>
    recording.cycles[(start + i) % recording.cycles.length]?.get(arm) ?? Number.NaN;
  const logRatio = (arm: number) => (_: unknown, i: number) => Math.log(at(i, arm) / at(i, arms.base));
  for (const pairs of LOOKS) {
    const look = lookAt(Array.from({ length: pairs }, logRatio(arms.patch)), rule);
    if (look.verdict === null) continue;
    const runs = 2 * pairs + (arms.copy === null ? 0 : CONTROL_BLOCKS);
    if (arms.copy === null) return { verdict: look.verdict, runs };
    const control = Array.from({ length: CONTROL_BLOCKS }, logRatio(arms.copy));
    const { vetoed } = controlVeto(control, look.estimate);
    return { verdict: vetoed ? 'inconclusive' : look.verdict, runs };
  }
  throw new Error('The last look must decide.');
}
