/** A small fake of a measurement's arm: answers the harness's requests from a cost model, without any container. */
import { z } from 'zod';
import type { CommandResult, MeasurementArm } from '../../src/domain/sandbox.js';

const requestSchema = z.looseObject({
  mode: z.string(),
  nonce: z.string(),
  workload: z.string().nullable(),
  warmupCpuMs: z.number(),
});

export interface FakeArmModel {
  /** CPU nanoseconds per operation of the workload at the n-th call of the arm, from 0. */
  readonly cost: (workload: string, call: number) => number;
  /** Wall nanoseconds per operation; default the CPU time. */
  readonly wall?: (workload: string, call: number) => number;
  /** Changes the figures of an answer, or replaces the process's whole result. */
  readonly answer?: (members: Record<string, unknown>, call: number) => Record<string, unknown>;
  readonly result?: (stdout: string, call: number) => Partial<CommandResult>;
  readonly leftovers?: (call: number) => number;
  /** Microseconds that the kernel books for a process that says it used `claimed`. */
  readonly booked?: (claimed: number) => number;
  /** Whether the kernel books apart for this arm; default true. */
  readonly booksApart?: boolean;
  /** Gets a line per observation. */
  readonly onCall?: (workload: string) => void;
}

export function createFakeArm(model: FakeArmModel): MeasurementArm & { readonly calls: () => number } {
  let call = 0;
  let cpu = 1_000_000;
  return {
    paths: { workspace: '/ws', harness: '/opt/hasten/harness' },
    calls: () => call,
    async exec(_argv, options) {
      const request = requestSchema.parse(JSON.parse(options.stdin ?? ''));
      const workload = request.workload ?? '';
      model.onCall?.(workload);
      const cost = model.cost(workload, call);
      const processCpuUs = request.warmupCpuMs * 1000 + 100_000;
      const members = {
        nonce: request.nonce,
        ok: true,
        cpuNsPerOp: cost,
        wallNsPerOp: model.wall?.(workload, call) ?? cost,
        batch: 1,
        firstCallNs: 1,
        firstCallCpuUs: 1,
        importCpuUs: 1,
        importWallNs: 1,
        earlyRssKb: 50_000,
        maxRssKb: 50_000,
        processCpuUs,
        node: 'v20.20.2',
      };
      cpu += model.booked?.(processCpuUs) ?? processCpuUs + 5000;
      const stdout = `${JSON.stringify(model.answer?.(members, call) ?? members)}\n`;
      const result = exited(stdout, model.result?.(stdout, call));
      call++;
      return result;
    },
    leftoverProcesses: async () => model.leftovers?.(call) ?? 0,
    cpuMicros: async () => (model.booksApart === false ? null : cpu),
    close: async () => {},
  };
}

function exited(stdout: string, changes: Partial<CommandResult> = {}): CommandResult {
  const output = (text: string) => ({ text, totalBytes: text.length, truncated: false });
  return {
    outcome: 'exited',
    exitCode: 0,
    stdout: output(stdout),
    stderr: output(''),
    wallMs: 1,
    ...changes,
  };
}
