/** One observation: a fresh process in an arm, its figures held against what the kernel booked, nothing left running. */
import type { MeasurementArm } from '../domain/sandbox.js';
import {
  type BenchmarkLocation,
  harnessArgv,
  harnessRequest,
  type ObservationAnswer,
  type ObservationProtocol,
  readObservation,
} from './harness-protocol.js';
import { expectNothingLeft } from './leftovers.js';
import { StepFailed } from './step-failed.js';

export type ArmName = 'base' | 'patch' | 'copy';

/** An arm with what was booked to it before its next process. */
export interface ObservedArm {
  readonly name: ArmName;
  readonly arm: MeasurementArm;
  /** Null where the kernel books none apart: figures are then not held against it. */
  bookedUs: number | null;
}

export interface ObservationRequest {
  readonly benchmark: BenchmarkLocation;
  readonly workload: string;
  readonly nonce: string;
  readonly protocol: ObservationProtocol;
  readonly timeoutMs: number;
}

/** Starting a process in a container and the runtime's own part of it are booked too, beside the process. */
const OVERHEAD_US = 150_000;
const OVERHEAD_SHARE = 0.2;
/** Slack of the two clocks against each other. */
const CLOCK_SHARE = 0.1;
const CLOCK_US = 20_000;

/**
 * Runs one observation. Throws StepFailed when the process gives no usable answer, leaves a process behind, or claims
 * CPU time that the kernel did not book (or the kernel booked far more than it claims: work hidden in other processes).
 */
export async function observe(
  observed: ObservedArm,
  request: ObservationRequest,
): Promise<ObservationAnswer> {
  const { arm, name } = observed;
  const { benchmark, workload, nonce, protocol } = request;
  const stdin = harnessRequest(benchmark, workload, nonce, protocol, arm.paths.workspace);
  const result = await arm.exec(harnessArgv(arm.paths.harness), { timeoutMs: request.timeoutMs, stdin });
  const answer = readObservation(result, request.nonce, nameOf(name));
  await expectNothingLeft(arm, nameOf(name));
  const before = observed.bookedUs;
  observed.bookedUs = await arm.cpuMicros();
  if (before !== null && observed.bookedUs !== null) {
    expectBooked(answer, observed.bookedUs - before, request, name);
  }
  return answer;
}

function expectBooked(
  answer: ObservationAnswer,
  usedUs: number,
  request: ObservationRequest,
  name: ArmName,
): void {
  const claimed = answer.processCpuUs;
  const { warmupCpuMs, batches } = request.protocol;
  const least = warmupCpuMs * 1000 + (batches * answer.batch * answer.cpuNsPerOp) / 1000;
  const tooMuch = claimed > usedUs * (1 + CLOCK_SHARE) + CLOCK_US || least > claimed + CLOCK_US;
  const tooLittle = usedUs > claimed * (1 + OVERHEAD_SHARE) + OVERHEAD_US;
  if (!tooMuch && !tooLittle) return;
  throw new StepFailed({
    code: 'FIGURE_NOT_BOOKED',
    message: `The figures of the ${nameOf(name)} do not agree with the CPU time that the kernel booked.`,
    evidence: [
      `Workload "${request.workload}": the process says it used ${ms(claimed)} of CPU time,`,
      `its figure needs at least ${ms(least)}, the kernel booked ${ms(usedUs)} to the container.`,
      tooLittle ? 'Work that runs in other processes cannot be measured.' : 'The figure is impossible.',
    ].join(' '),
  });
}

function nameOf(name: ArmName): string {
  return name === 'copy' ? 'copy of the base' : name;
}

function ms(microseconds: number): string {
  return `${Math.round(microseconds / 1000)} ms`;
}
