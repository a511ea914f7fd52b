/** Step 4: the benchmark's checksum must repeat on the base and be the same on the patch, before any timing counts. */
import type { MeasurementArm } from '../domain/sandbox.js';
import {
  type BenchmarkLocation,
  type ChecksumAnswer,
  DEFAULT_PROTOCOL,
  harnessArgv,
  harnessRequest,
  readChecksum,
} from './harness-protocol.js';
import { expectNothingLeft } from './leftovers.js';
import { StepFailed } from './step-failed.js';

export interface ChecksumRequest {
  readonly benchmark: BenchmarkLocation;
  readonly nonce: () => string;
  readonly timeoutMs: number;
}

/** The checksum of one arm in a fresh process. Throws StepFailed when there is none. */
export async function checksumOf(
  arm: MeasurementArm,
  name: string,
  request: ChecksumRequest,
): Promise<ChecksumAnswer> {
  const nonce = request.nonce();
  const stdin = harnessRequest(request.benchmark, null, nonce, DEFAULT_PROTOCOL, arm.paths.workspace);
  const result = await arm.exec(harnessArgv(arm.paths.harness), { timeoutMs: request.timeoutMs, stdin });
  const answer = readChecksum(result, nonce, name);
  await expectNothingLeft(arm, name);
  return answer;
}

/** Two checksums of the base's code; throws StepFailed when they differ, for then nothing could be compared with them. */
export async function repeatedChecksum(
  first: MeasurementArm,
  second: MeasurementArm,
  request: ChecksumRequest,
): Promise<ChecksumAnswer> {
  const one = await checksumOf(first, 'base', request);
  const other = await checksumOf(second, 'base', request);
  if (one.checksum === other.checksum) return one;
  throw new StepFailed({
    code: 'CHECKSUM_NOT_REPEATABLE',
    message:
      'The checksum of the benchmark differs between two runs of the base, so outputs cannot be compared.',
    evidence: difference('first run', one, 'second run', other),
  });
}

/** Base twice, patch once. Answers with the names of the workloads; throws StepFailed when the output changed. */
export async function checkSameOutput(
  arms: { readonly base: MeasurementArm; readonly copy: MeasurementArm; readonly patch: MeasurementArm },
  request: ChecksumRequest,
): Promise<readonly string[]> {
  const base = await repeatedChecksum(arms.base, arms.copy, request);
  const patch = await checksumOf(arms.patch, 'patch', request);
  if (patch.checksum !== base.checksum) {
    throw new StepFailed({
      code: 'OUTPUT_CHANGED',
      message: 'The output of the benchmark is not the same on the patch.',
      evidence: difference('base', base, 'patch', patch),
    });
  }
  if (JSON.stringify(patch.workloads) !== JSON.stringify(base.workloads)) {
    throw new StepFailed({
      code: 'WORKLOADS_CHANGED',
      message: 'The benchmark does not have the same workloads on base and patch.',
      evidence: `Base: ${base.workloads.join(', ')}. Patch: ${patch.workloads.join(', ')}.`,
    });
  }
  return base.workloads;
}

const AROUND = 120;

function difference(aName: string, a: ChecksumAnswer, bName: string, b: ChecksumAnswer): string {
  const first = firstDifference(a.preview, b.preview);
  const excerpt = (text: string) =>
    JSON.stringify(text.slice(Math.max(0, first - AROUND / 2), first + AROUND));
  return [
    `The checksums (${a.length} and ${b.length} characters) are equal for ${first} characters, then differ.`,
    `${aName}: ${excerpt(a.preview)}`,
    `${bName}: ${excerpt(b.preview)}`,
  ].join('\n');
}

/** Equal characters at the start; the previews hold only the first few thousand. */
function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}
