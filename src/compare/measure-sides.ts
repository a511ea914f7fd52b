/** The measurement of a comparison: the same output check, rule, control and lock as for Hasten's own patches. */
import { randomUUID } from 'node:crypto';
import type { Measurement, Verdict } from '../domain/evaluation.js';
import type { Benchmark } from '../domain/plan.js';
import type { Sandbox } from '../domain/sandbox.js';
import type { RepositorySettings } from '../domain/settings.js';
import { type Arms, createArmSession } from '../evaluator/arm-session.js';
import { DEFAULT_EVALUATE_OPTIONS } from '../evaluator/evaluate-station.js';
import { withCpus } from '../evaluator/measurement-lock.js';
import { type MeasurementPlan, measureToVerdict } from '../evaluator/measurement-step.js';
import { checkSameOutput, type OutputRequest } from '../evaluator/output-step.js';
import { StepFailed } from '../evaluator/step-failed.js';
import type { ComparedWorkspaces } from './compared-workspaces.js';
import type { Comparison } from './comparison.js';

export interface MeasureSidesRequest {
  readonly sandbox: Sandbox;
  readonly workspaces: ComparedWorkspaces['workspaces'];
  readonly benchmark: Benchmark;
  /** Minimum effect, memory growth and time limit count. */
  readonly settings: RepositorySettings;
  readonly seed: string;
  readonly confirm: boolean;
  readonly allowDifferentOutput: boolean;
  readonly environment: Omit<Measurement['environment'], 'load' | 'node'>;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

export type MeasuredSides = Pick<
  Comparison,
  'verdict' | 'reason' | 'output' | 'measurement' | 'confirmation'
>;

/** Throws StepFailed when the benchmark fails, the output differs or figures cannot be used; PeerError when the engine fails. */
export async function measureSides(request: MeasureSidesRequest): Promise<MeasuredSides> {
  const { sandbox, workspaces, environment, signal } = request;
  request.progress('waiting for the CPUs');
  return withCpus(environment.cpuset, signal, async () => {
    const session = createArmSession(sandbox, workspaces, environment.cpuset, signal);
    try {
      const arms = await session.renew();
      request.progress('comparing outputs');
      const { compared, output } = await comparedOutput(request, arms);
      const { seed } = request;
      const measured = await measureAndConfirm(request, { arms, session, compared, seed, environment });
      return { ...measured, output };
    } finally {
      await session.close();
    }
  });
}

async function comparedOutput(
  request: MeasureSidesRequest,
  arms: Arms,
): Promise<{ compared: MeasurementPlan['compared']; output: Comparison['output'] }> {
  const asked = outputRequest(request);
  try {
    const compared = await checkSameOutput(arms, asked);
    return { compared, output: compared.output === 'same' ? 'same' : 'not compared' };
  } catch (error) {
    const isDifferent = error instanceof StepFailed && error.code === 'OUTPUT_CHANGED';
    if (!isDifferent || !request.allowDifferentOutput) throw error;
    // What is observed, and how, base says alone; head has to have the same workloads or fails when it is measured.
    return { compared: await checkSameOutput({ ...arms, patch: arms.base }, asked), output: 'different' };
  }
}

function outputRequest({ benchmark, settings }: MeasureSidesRequest): OutputRequest {
  const limitMs = settings.timeouts.measureMs;
  // One process of a module is short by construction; a command takes what it takes.
  const timeoutMs =
    benchmark.kind === 'module' ? Math.min(limitMs, DEFAULT_EVALUATE_OPTIONS.observationTimeoutMs) : limitMs;
  return { benchmark, nonce: randomUUID, timeoutMs };
}

async function measureAndConfirm(
  request: MeasureSidesRequest,
  plan: MeasurementPlan,
): Promise<Omit<MeasuredSides, 'output'>> {
  const { settings, progress, signal } = request;
  const station = { signal, now: Date.now, progress };
  const context = { settings, options: DEFAULT_EVALUATE_OPTIONS, station };
  const measurement = await measureToVerdict(context, plan);
  const { verdict, reason } = measurement;
  if (!request.confirm || (verdict !== 'faster' && verdict !== 'slower')) {
    return { verdict, reason, measurement, confirmation: null };
  }
  progress('measuring once more');
  const again = { ...plan, arms: await plan.session.renew(), seed: `${plan.seed}:confirm` };
  const confirmation = await measureToVerdict(context, again);
  return { ...agreed(verdict, reason, confirmation), measurement, confirmation };
}

function agreed(
  verdict: Verdict,
  reason: string,
  confirmation: Measurement,
): Pick<Comparison, 'verdict' | 'reason'> {
  if (confirmation.verdict === verdict) return { verdict, reason };
  return {
    verdict: 'inconclusive',
    reason: `The first measurement says ${verdict}, the second one ${confirmation.verdict}.`,
  };
}
