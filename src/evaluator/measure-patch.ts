/** The part of an evaluation that has the CPUs for itself: same output, measurement with confirmation, held-back workload. */
import { randomUUID } from 'node:crypto';
import { PeerError } from '../domain/errors.js';
import type { EvaluationPassed, Measurement } from '../domain/evaluation.js';
import type { Sandbox, Workspace } from '../domain/sandbox.js';
import { type ArmSession, createArmSession } from './arm-session.js';
import type { EvaluationContext } from './evaluation-context.js';
import { measureHeldBack } from './held-back-step.js';
import { withCpus } from './measurement-lock.js';
import { confirm, expectFaster, measureToVerdict } from './measurement-step.js';
import type { ArmName } from './observers/benchmark-observer.js';
import { checkSameOutput } from './output-step.js';
import type { StepLog } from './step-log.js';

type Measured = Pick<EvaluationPassed, 'measurement' | 'confirmation' | 'heldBack'>;
type Environment = Omit<Measurement['environment'], 'load' | 'node'>;

/** What all measurements of one evaluation share. */
interface Measuring {
  readonly session: ArmSession;
  /** Text that the orders are derived from. */
  readonly seed: string;
  readonly environment: Environment;
}

/**
 * Measures a patch in its own workspace against base and its copy, with their CPUs to itself. Throws StepFailed when the
 * output differs or the patch is not faster each time.
 */
export async function measurePatch(
  context: EvaluationContext,
  log: StepLog,
  workspaces: Readonly<Record<ArmName, Workspace>>,
  seed: string,
): Promise<Measured> {
  const { sandbox, station } = context;
  const environment = await environmentOf(sandbox);
  return withCpus(environment.cpuset, station.signal, async () => {
    const session = createArmSession(sandbox, workspaces, environment.cpuset, station.signal);
    try {
      return await measureInArms(context, log, { session, seed, environment });
    } finally {
      await session.close();
    }
  });
}

async function measureInArms(
  context: EvaluationContext,
  log: StepLog,
  measuring: Measuring,
): Promise<Measured> {
  const { station, benchmark, options } = context;
  const arms = await measuring.session.renew();
  const compared = await log.run('same-output', async () => {
    station.progress('comparing outputs');
    const value = await checkSameOutput(arms, {
      benchmark,
      protocol: options.protocol,
      nonce: randomUUID,
      timeoutMs: Math.min(options.observationTimeoutMs, context.settings.timeouts.measureMs),
    });
    return { summary: value.summary, value };
  });
  const measured = await log.run('measurement', async () => {
    const plan = { ...measuring, arms, compared };
    const measurement = await measureToVerdict(context, plan);
    expectFaster(measurement);
    const confirmation = await confirm(context, plan);
    return { summary: measurementSummary(measurement, confirmation), value: { measurement, confirmation } };
  });
  return { ...measured, heldBack: await heldBack(context, log, measuring, measured.measurement) };
}

/** Null where the benchmark has no held-back workload. */
async function heldBack(
  context: EvaluationContext,
  log: StepLog,
  measuring: Measuring,
  passed: Measurement,
): Promise<Measurement | null> {
  const { benchmark } = context;
  if (benchmark.kind !== 'module' || benchmark.heldBack === null) return null;
  const frozen = { benchmark, heldBack: benchmark.heldBack };
  return log.run('held-back', async () => ({
    summary: 'The held-back workload, with inputs that whoever wrote the patch never saw, is faster too.',
    value: await measureHeldBack(context, measuring, frozen, passed),
  }));
}

function measurementSummary(measurement: Measurement, confirmation: Measurement | null): string {
  const confirmed = confirmation === null ? '' : ' Confirmed in fresh containers.';
  return `${measurement.reason}${confirmed}`;
}

async function environmentOf(sandbox: Sandbox): Promise<Environment> {
  const health = await sandbox.check();
  if (!health.ok || health.imageId === null) {
    throw new PeerError({ code: 'DOCKER_UNAVAILABLE', message: health.detail });
  }
  return { runtime: health.runtime, imageId: health.imageId, cpuset: sandbox.measurementCpuset() };
}
