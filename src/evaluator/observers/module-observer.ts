/** Observes a module benchmark with Hasten's own harness: one fresh process per workload, CPU time per operation. */
import {
  type BenchmarkLocation,
  harnessArgv,
  harnessRequest,
  type ObservationAnswer,
  type ObservationProtocol,
  readObservation,
} from '../harness-protocol.js';
import { armWord, type BenchmarkObserver, type ObserverOptions, type Sample } from './benchmark-observer.js';
import { expectBooked } from './booked-cpu.js';

export interface ModuleObserverOptions extends ObserverOptions {
  readonly benchmark: BenchmarkLocation;
  readonly protocol: ObservationProtocol;
}

export function createModuleObserver(options: ModuleObserverOptions): BenchmarkObserver {
  const { benchmark, protocol, timeoutMs } = options;
  return {
    metric: 'cpu-time',
    metricReason: null,
    groups: (workloads) => workloads.map((name) => [name]),
    async observe(observed, [workload = '']) {
      const { arm, name } = observed;
      const nonce = options.nonce();
      const stdin = harnessRequest(benchmark, workload, nonce, protocol, arm.paths.workspace);
      const result = await arm.exec(harnessArgv(arm.paths.harness), { timeoutMs, stdin });
      const answer = readObservation(result, nonce, armWord(name));
      const leastUs =
        protocol.warmupCpuMs * 1000 + (protocol.batches * answer.batch * answer.cpuNsPerOp) / 1000;
      await expectBooked(observed, { workload, claimedUs: answer.processCpuUs, leastUs });
      return { samples: new Map([[workload, sampleOf(answer)]]), node: answer.node };
    },
  };
}

function sampleOf(answer: ObservationAnswer): Sample {
  return {
    msPerOp: answer.cpuNsPerOp / 1e6,
    wallMs: answer.wallNsPerOp / 1e6,
    importMs: answer.importCpuUs / 1e3,
    firstCallMs: answer.firstCallCpuUs / 1e3,
    peakMemoryMiB: answer.earlyRssKb / 1024,
  };
}
