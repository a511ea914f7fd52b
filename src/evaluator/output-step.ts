/** Same output: what can be compared of a benchmark must be the same on the patch, before any timing counts. */
import type { Benchmark } from '../domain/plan.js';
import { DEFAULT_PROTOCOL, type ObservationProtocol } from './harness-protocol.js';
import type { ObserverOptions } from './observers/benchmark-observer.js';
import { compareCommand } from './observers/command-output.js';
import type { ComparedArms, ComparedBenchmark } from './observers/compared-benchmark.js';
import { compareModule } from './observers/module-output.js';
import { compareReport } from './observers/report-output.js';

export interface OutputRequest extends ObserverOptions {
  readonly benchmark: Benchmark;
  /** Of a module's observations; default `DEFAULT_PROTOCOL`. */
  readonly protocol?: ObservationProtocol;
}

/**
 * Compares base, its copy and the patch in open arms. Answers with the workloads and how they will be observed; throws
 * StepFailed when the benchmark fails or the output changed.
 */
export function checkSameOutput(arms: ComparedArms, request: OutputRequest): Promise<ComparedBenchmark> {
  const { benchmark, nonce, timeoutMs, protocol = DEFAULT_PROTOCOL } = request;
  switch (benchmark.kind) {
    case 'module':
      return compareModule(arms, { benchmark, nonce, timeoutMs, protocol });
    case 'command':
      return compareCommand(arms, { command: benchmark.source, nonce, timeoutMs });
    case 'report': {
      const { source, format, file } = benchmark;
      return compareReport(arms, { command: source, format, file, nonce, timeoutMs });
    }
  }
}
