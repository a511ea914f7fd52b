/** Holds the CPU time that a process claims against what the kernel booked to its container: a figure cannot be made up. */
import { expectNothingLeft } from '../leftovers.js';
import { StepFailed } from '../step-failed.js';
import { armWord, type ObservedArm } from './benchmark-observer.js';

/** Starting a process in a container and the runtime's own part of it are booked too, beside the process. */
const OVERHEAD_US = 150_000;
const OVERHEAD_SHARE = 0.2;
/** Slack of the two clocks against each other. */
const CLOCK_SHARE = 0.1;
const CLOCK_US = 20_000;

export interface ClaimedCpu {
  /** What ran, for people. */
  readonly workload: string;
  /** CPU microseconds that the process says it used in all. */
  readonly claimedUs: number;
  /** CPU microseconds that its figure needs at least. */
  readonly leastUs: number;
}

/**
 * To be called when a process has ended: refuses what it left running, then compares. Throws StepFailed
 * `PROCESSES_LEFT_BEHIND` or `FIGURE_NOT_BOOKED`.
 */
export async function expectBooked(observed: ObservedArm, claimed: ClaimedCpu): Promise<void> {
  await expectNothingLeft(observed.arm, armWord(observed.name));
  const before = observed.bookedUs;
  observed.bookedUs = await observed.arm.cpuMicros();
  if (before === null || observed.bookedUs === null) return;
  compare(claimed, observed.bookedUs - before, armWord(observed.name));
}

function compare({ workload, claimedUs, leastUs }: ClaimedCpu, usedUs: number, arm: string): void {
  const tooMuch = claimedUs > usedUs * (1 + CLOCK_SHARE) + CLOCK_US || leastUs > claimedUs + CLOCK_US;
  const tooLittle = usedUs > claimedUs * (1 + OVERHEAD_SHARE) + OVERHEAD_US;
  if (!tooMuch && !tooLittle) return;
  throw new StepFailed({
    code: 'FIGURE_NOT_BOOKED',
    message: `The figures of the ${arm} do not agree with the CPU time that the kernel booked.`,
    evidence: [
      `Workload "${workload}": the process says it used ${ms(claimedUs)} of CPU time,`,
      `its figure needs at least ${ms(leastUs)}, the kernel booked ${ms(usedUs)} to the container.`,
      tooLittle ? 'Work that runs in other processes cannot be measured.' : 'The figure is impossible.',
    ].join(' '),
  });
}

function ms(microseconds: number): string {
  return `${Math.round(microseconds / 1000)} ms`;
}
