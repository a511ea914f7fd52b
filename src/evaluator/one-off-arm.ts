/** Lets an observer run in fresh containers without an open arm: for trials, where nothing is compared or booked. */
import type { MeasurementArm, Sandbox, SandboxCommand, Workspace } from '../domain/sandbox.js';
import { SANDBOX_HARNESS, SANDBOX_WORKSPACE } from './harness-protocol.js';

/** Each `exec` is a container of its own with the workspace read-only, so that nothing can be left behind. */
export function createOneOffArm(
  sandbox: Sandbox,
  workspace: Workspace,
  limits: Pick<SandboxCommand, 'memoryBytes'>,
  signal: AbortSignal,
): MeasurementArm {
  return {
    paths: { workspace: SANDBOX_WORKSPACE, harness: SANDBOX_HARNESS },
    exec: (argv, options) =>
      sandbox.run(workspace, { argv, ...options, ...limits, readOnlyWorkspace: true }, signal),
    leftoverProcesses: async () => 0,
    cpuMicros: async () => null,
    close: async () => {},
  };
}
