/** The same-output check of a command, and the calibration of how it is observed. */
import { StepFailed } from '../step-failed.js';
import { type ObservedArm, type ObserverOptions, observedArm } from './benchmark-observer.js';
import { chooseMetric } from './command-metric.js';
import {
  COMMAND_WORKLOAD,
  createCommandObserver,
  KEPT_OUTPUT_BYTES,
  leastCpuMs,
} from './command-observer.js';
import { type CommandAnswer, type CommandRun, MOST_RUNS } from './command-protocol.js';
import { runInArm } from './command-run.js';
import type { ComparedArms, ComparedBenchmark } from './compared-benchmark.js';
import { outputDifference, type ShownOutput } from './output-difference.js';

export interface CommandOutputRequest extends ObserverOptions {
  readonly command: string;
}

/** Runs per side that the choice of the metric looks at; a slow command shows it in one. */
const CALIBRATION_RUNS = 3;
const SLOW_COMMAND_MS = 2000;
/** Where something speaks for wall time it is looked at again: on a busy machine anything seems to wait. */
const MOST_CALIBRATIONS = 3;
/** Milliseconds, CPU or wall, that the runs of one observation take together, so that a short command has a least figure. */
const OBSERVATION_MS = 100;

/** Base twice, patch once, then the calibration on both. Throws StepFailed when a run fails or the output changed. */
export async function compareCommand(
  arms: ComparedArms,
  request: CommandOutputRequest,
): Promise<ComparedBenchmark> {
  const base = await observedArm('base', arms.base);
  const copy = await observedArm('copy', arms.copy);
  const patch = await observedArm('patch', arms.patch);
  const toRun = { ...request, file: null, keptBytes: KEPT_OUTPUT_BYTES };
  const run = async (arm: ObservedArm, runs: number) => runInArm(arm, toRun, runs);

  const outputs = { base: await run(base, 1), copy: await run(copy, 1), patch: await run(patch, 1) };
  const isRepeatable = isSame(outputs.base, outputs.copy);
  if (isRepeatable && !isSame(outputs.base, outputs.patch)) throw outputChanged(outputs);

  const wallMs = (outputs.base.runs[0]?.wallNs ?? 0) / 1e6;
  const isSlow = wallMs > SLOW_COMMAND_MS;
  const ofBase = [...outputs.base.runs];
  const ofPatch = [...outputs.patch.runs];
  let choice = chooseMetric(ofBase, ofPatch);
  for (let round = 0; round < (isSlow ? 1 : MOST_CALIBRATIONS); round++) {
    ofBase.push(...(await run(base, isSlow ? 1 : CALIBRATION_RUNS)).runs);
    ofPatch.push(...(await run(patch, isSlow ? 1 : CALIBRATION_RUNS)).runs);
    choice = chooseMetric(ofBase, ofPatch);
    if (choice.metric === 'cpu-time') break;
  }
  return {
    workloads: [COMMAND_WORKLOAD],
    observer: createCommandObserver({
      ...request,
      metric: choice.metric,
      metricReason: choice.reason,
      runs: runsPerObservation(ofBase),
    }),
    output: isRepeatable ? 'same' : 'not-compared',
    summary: isRepeatable
      ? 'The command succeeds and prints the same on base and patch.'
      : 'The command succeeds on base and patch; its output differs between two runs of the base, so it was not compared.',
  };
}

/** Enough runs for the least of them to mean something where the command is short, one where it is long. */
export function runsPerObservation(base: readonly CommandRun[]): number {
  const ms = Math.max(leastCpuMs(base), Math.min(...base.map(({ wallNs }) => wallNs / 1e6)));
  return Math.min(MOST_RUNS, Math.max(1, Math.ceil(OBSERVATION_MS / ms)));
}

function isSame(a: CommandAnswer, b: CommandAnswer): boolean {
  return a.stdoutSha256 === b.stdoutSha256;
}

function outputChanged({ base, patch }: { base: CommandAnswer; patch: CommandAnswer }): StepFailed {
  const shown = (name: string, { stdout, stdoutBytes }: CommandAnswer): ShownOutput => ({
    name,
    preview: stdout,
    length: stdoutBytes,
  });
  return new StepFailed({
    code: 'OUTPUT_CHANGED',
    message: 'The standard output of the command is not the same on the patch.',
    evidence: outputDifference('outputs', 'bytes', shown('base', base), shown('patch', patch)),
  });
}
