/** Which clock judges a command: CPU time, or wall time where the work waits. */
import type { Metric } from '../../domain/evaluation.js';
import type { CommandRun } from './command-protocol.js';

/** A command that spends less of its wall time on the CPU, in its best run, waits for something. */
const LEAST_BUSY_SHARE = 0.8;
/** Shares that differ by more than this factor between base and patch mean that the patch changes waiting. */
const SHARE_FACTOR = 1.25;
/** Below this much CPU and wall time a share says nothing: starting a process is most of it. */
const SHORTEST_TOLD_MS = 5;

export interface MetricChoice {
  readonly metric: Metric;
  /** One sentence; null where nothing speaks against CPU time. */
  readonly reason: string | null;
}

/**
 * The rule: CPU time, unless the base's best run has CPU over wall time below 0.8, or the patch's best share is another
 * one. The best of several runs is taken because other load on the machine only ever lowers a share. At least one run each.
 */
export function chooseMetric(base: readonly CommandRun[], patch: readonly CommandRun[]): MetricChoice {
  const baseShare = bestShare(base);
  const patchShare = bestShare(patch);
  if (baseShare < LEAST_BUSY_SHARE && longest(base) >= SHORTEST_TOLD_MS) {
    return { metric: 'wall-time', reason: `The command waits: ${onCpu(baseShare)} of its time on the base.` };
  }
  const isOther = Math.abs(Math.log(patchShare / baseShare)) > Math.log(SHARE_FACTOR);
  if (isOther && longest([...base, ...patch]) >= SHORTEST_TOLD_MS) {
    const shares = `${onCpu(baseShare)} of its time on the base, ${percent(patchShare)} on the patch`;
    return { metric: 'wall-time', reason: `The patch changes how much the command waits: ${shares}.` };
  }
  return { metric: 'cpu-time', reason: null };
}

/** CPU over wall time of the run that has the most of it; above 1 where several threads work. */
function bestShare(runs: readonly CommandRun[]): number {
  return Math.max(...runs.map(({ cpuUs, wallNs }) => Math.max(1, cpuUs) / (wallNs / 1000)));
}

function longest(runs: readonly CommandRun[]): number {
  return Math.max(...runs.map(({ wallNs }) => wallNs / 1e6));
}

function onCpu(share: number): string {
  return `it uses the CPU for ${percent(share)}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
