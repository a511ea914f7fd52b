/**
 * Where the held-back workload stands while it runs: a file in a container's temporary folder, never in a workspace, for
 * there tests, linters and the patch itself could read it, and their output goes to whoever writes the next patch.
 */
import type { HeldBackBenchmark, ModuleBenchmark } from '../domain/plan.js';
import type { MeasurementArm } from '../domain/sandbox.js';
import { succeeded } from './evidence.js';
import { harnessArgv } from './harness-protocol.js';
import { StepFailed } from './step-failed.js';

const FILE = '/tmp/hasten-held-back.mjs';
const ENVIRONMENT_NAME = 'HASTEN_HELD_BACK';
const PUT_TIMEOUT_MS = 30_000;

/** What an environment variable can carry, with room to spare. */
const MAX_BYTES = 100_000;

/** The held-back module as a benchmark of its own, at the place where it is put. */
export function heldBackAsBenchmark(
  benchmark: ModuleBenchmark,
  heldBack: HeldBackBenchmark,
): ModuleBenchmark {
  const { source, sha256 } = heldBack;
  return { ...benchmark, origin: 'hasten', path: `..${FILE}`, source, sha256, heldBack: null };
}

/** Puts it into an open arm. Throws StepFailed when it cannot be written there. */
export async function putHeldBack(arm: MeasurementArm, heldBack: HeldBackBenchmark): Promise<void> {
  const argv = ['sh', '-c', `cat > ${FILE}`];
  const result = await arm.exec(argv, { timeoutMs: PUT_TIMEOUT_MS, stdin: heldBack.source });
  if (succeeded(result)) return;
  throw new StepFailed({
    code: 'HELD_BACK_NOT_PUT',
    message: 'The held-back workload could not be put into a container.',
    evidence: '',
  });
}

/** Starts the harness in a fresh container after the module was put there. */
export function harnessWithHeldBack(heldBack: HeldBackBenchmark) {
  const script = `printf %s "$${ENVIRONMENT_NAME}" > ${FILE} && unset ${ENVIRONMENT_NAME} && exec "$@"`;
  return {
    argv: ['sh', '-c', script, 'sh', ...harnessArgv()],
    env: { [ENVIRONMENT_NAME]: heldBack.source },
  };
}

/** Why a source cannot be tried at all, or null. */
export function refusalOfSource(benchmark: ModuleBenchmark, heldBack: HeldBackBenchmark): string | null {
  if (Buffer.byteLength(heldBack.source) > MAX_BYTES) return `it has more than ${MAX_BYTES} bytes`;
  if (heldBack.source.includes('\0')) return 'it holds a NUL character';
  const isSame = bare(heldBack.source) === bare(benchmark.source);
  return isSame ? 'it is the benchmark once more; the same kind of work on other inputs is needed' : null;
}

/** Without comments of whole lines and white space. */
function bare(source: string): string {
  return source.replace(/^\s*\/\/.*$/gm, '').replace(/\s+/g, '');
}
