/** Tries a held-back workload on the base for planning: it must load, repeat its checksum, and not be the benchmark again. */
import { randomUUID } from 'node:crypto';
import type { HeldBackTrial } from '../domain/evaluation.js';
import type { Workspace } from '../domain/sandbox.js';
import { createBaseMemory } from './base-memory.js';
import type { BenchmarkTrialDeps } from './benchmark-trial.js';
import { builtBase } from './built-workspaces.js';
import {
  type BenchmarkLocation,
  DEFAULT_PROTOCOL,
  harnessArgv,
  harnessRequest,
  readChecksum,
  readObservation,
} from './harness-protocol.js';
import { harnessWithHeldBack, heldBackAsBenchmark, refusalOfSource } from './held-back-module.js';
import { StepFailed } from './step-failed.js';

/** Makes the port for planning, in the workspace of the benchmark's own trial. */
export function createHeldBackTrial(deps: BenchmarkTrialDeps): HeldBackTrial {
  const built = deps.built ?? createBaseMemory<true>();
  return async (request, signal) => {
    const refusal = refusalOfSource(request.benchmark, request.heldBack);
    if (refusal !== null) return { ok: false, reason: refusal };
    try {
      const workspace = await builtBase({ ...request, sandbox: deps.sandbox }, 'base', built, signal);
      await tryOnBase(deps, request, workspace, signal);
      return { ok: true };
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      return { ok: false, reason: [error.message, error.evidence].join('\n').trim() };
    }
  };
}

async function tryOnBase(
  deps: BenchmarkTrialDeps,
  request: Parameters<HeldBackTrial>[0],
  workspace: Workspace,
  signal: AbortSignal,
): Promise<void> {
  const { benchmark, heldBack, settings } = request;
  const limits = {
    timeoutMs: Math.min(deps.timeoutMs ?? 60_000, settings.timeouts.measureMs),
    memoryBytes: settings.memoryBytes,
    readOnlyWorkspace: true,
  };
  const asked = async (location: BenchmarkLocation, workload: string | null, start: object) => {
    const nonce = randomUUID();
    const stdin = harnessRequest(location, workload, nonce, DEFAULT_PROTOCOL);
    const command = { argv: harnessArgv(), ...limits, ...start, stdin };
    return { nonce, result: await deps.sandbox.run(workspace, command, signal) };
  };
  const checksum = async (location: BenchmarkLocation, start: object) => {
    const { nonce, result } = await asked(location, null, start);
    return readChecksum(result, nonce, 'base');
  };
  const start = harnessWithHeldBack(heldBack);
  const module = heldBackAsBenchmark(benchmark, heldBack);
  // Not timed, so that they may run side by side.
  const [first, second, known] = await Promise.all([
    checksum(module, start),
    checksum(module, start),
    checksum(benchmark, {}),
  ]);
  if (first.checksum !== second.checksum) {
    throw refused('CHECKSUM_NOT_REPEATABLE', 'Its checksum differs between two runs of the base.');
  }
  if (first.checksum === known.checksum) {
    throw refused(
      'HELD_BACK_IS_BENCHMARK',
      'Its checksum is that of the benchmark; other inputs are needed.',
    );
  }
  for (const name of first.workloads) {
    const { nonce, result } = await asked(module, name, start);
    readObservation(result, nonce, 'base');
  }
}

function refused(code: string, message: string): StepFailed {
  return new StepFailed({ code, message, evidence: '' });
}
