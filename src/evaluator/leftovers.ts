/** Processes that a benchmark leaves running would slow the other arm: they are counted after each one and refused. */
import { setTimeout } from 'node:timers/promises';
import type { MeasurementArm } from '../domain/sandbox.js';
import { StepFailed } from './step-failed.js';

const TRIES = 10;
const WAIT_MS = 100;

/** Waits up to a second, since a process that has ended is seen a moment longer. Throws StepFailed when one stays. */
export async function expectNothingLeft(arm: MeasurementArm, name: string): Promise<void> {
  let leftovers = await arm.leftoverProcesses();
  for (let tries = 0; leftovers > 0 && tries < TRIES; tries++) {
    await setTimeout(WAIT_MS);
    leftovers = await arm.leftoverProcesses();
  }
  if (leftovers === 0) return;
  const what = leftovers === 1 ? 'a process' : `${leftovers} processes`;
  throw new StepFailed({
    code: 'PROCESSES_LEFT_BEHIND',
    message: `The benchmark left ${what} running on the ${name}.`,
    evidence: `A second after the benchmark process ended ${what} still ran in its container; it would slow the other side.`,
  });
}
