/** The same-output check of a module: its checksum must repeat on the base and be the same on the patch. */
import type { MeasurementArm } from '../../domain/sandbox.js';
import {
  type BenchmarkLocation,
  type ChecksumAnswer,
  harnessArgv,
  harnessRequest,
  type ObservationProtocol,
  readChecksum,
} from '../harness-protocol.js';
import { expectNothingLeft } from '../leftovers.js';
import { StepFailed } from '../step-failed.js';
import type { ObserverOptions } from './benchmark-observer.js';
import type { ComparedArms, ComparedBenchmark } from './compared-benchmark.js';
import { createModuleObserver } from './module-observer.js';
import { outputDifference, type ShownOutput } from './output-difference.js';

export interface ModuleOutputRequest extends ObserverOptions {
  readonly benchmark: BenchmarkLocation;
  readonly protocol: ObservationProtocol;
}

/** Base twice, patch once. Throws StepFailed when the output changed or cannot be compared. */
export async function compareModule(
  arms: ComparedArms,
  request: ModuleOutputRequest,
): Promise<ComparedBenchmark> {
  const base = await repeatedChecksum(arms, request);
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
  return {
    workloads: base.workloads,
    observer: createModuleObserver(request),
    output: 'same',
    summary: 'The benchmark gives the same output on base and patch.',
  };
}

async function repeatedChecksum(arms: ComparedArms, request: ModuleOutputRequest): Promise<ChecksumAnswer> {
  const one = await checksumOf(arms.base, 'base', request);
  const other = await checksumOf(arms.copy, 'base', request);
  if (one.checksum === other.checksum) return one;
  throw new StepFailed({
    code: 'CHECKSUM_NOT_REPEATABLE',
    message:
      'The checksum of the benchmark differs between two runs of the base, so outputs cannot be compared.',
    evidence: difference('first run', one, 'second run', other),
  });
}

async function checksumOf(
  arm: MeasurementArm,
  name: string,
  request: ModuleOutputRequest,
): Promise<ChecksumAnswer> {
  const { benchmark, protocol, timeoutMs } = request;
  const nonce = request.nonce();
  const stdin = harnessRequest(benchmark, null, nonce, protocol, arm.paths.workspace);
  const result = await arm.exec(harnessArgv(arm.paths.harness), { timeoutMs, stdin });
  const answer = readChecksum(result, nonce, name);
  await expectNothingLeft(arm, name);
  return answer;
}

function difference(aName: string, a: ChecksumAnswer, bName: string, b: ChecksumAnswer): string {
  const shown = (name: string, { preview, length }: ChecksumAnswer): ShownOutput => ({
    name,
    preview,
    length,
  });
  return outputDifference('checksums', 'characters', shown(aName, a), shown(bName, b));
}
