/** The gate: takes a patch through policy, build, tests, same output and measurement; the first failure stops it. */
import type { Effect, Station, StationContext } from '../domain/effect.js';
import { BugError } from '../domain/errors.js';
import type { EvaluationFailed, EvaluationPassed, EvaluationStep } from '../domain/evaluation.js';
import type { MachineEvent } from '../domain/event.js';
import { type Benchmark, heldBackOf } from '../domain/plan.js';
import type { SourceMirror } from '../domain/repository.js';
import type { Sandbox } from '../domain/sandbox.js';
import { allSettled } from './all-settled.js';
import { type BaseMemory, createBaseMemory } from './base-memory.js';
import { buildWorkspace } from './build-step.js';
import { type BuiltWorkspaces, builtBase } from './built-workspaces.js';
import { checkChangedLines } from './changed-lines/changed-lines-step.js';
import { type BaseCheck, runChecks } from './checks/checks-step.js';
import { type EvaluateOptions, type EvaluationContext, prepareWorkspace } from './evaluation-context.js';
import { DEFAULT_PROTOCOL } from './harness-protocol.js';
import { measurePatch } from './measure-patch.js';
import { DEFAULT_PATCH_LIMITS } from './patch-policy.js';
import { checkPolicy } from './policy-step.js';
import { reproduceCommands } from './reproduce.js';
import { StepFailed } from './step-failed.js';
import { createStepLog, type StepLog } from './step-log.js';
import type { BaseTests } from './tests/base-tests.js';
import { checkTests } from './tests/tests-step.js';

export interface EvaluateStationDeps {
  readonly sandbox: Sandbox;
  readonly mirror: SourceMirror;
  /** What differs from `DEFAULT_EVALUATE_OPTIONS`. */
  readonly options?: Partial<EvaluateOptions>;
  /** Shared with the benchmark's trial, which has built the base already; default one of its own. */
  readonly built?: BuiltWorkspaces;
  /** Seed text of the measurement's order for an effect; default the effect's key. */
  readonly seedFor?: (effectKey: string) => string;
  /** Epoch milliseconds; default the clock of the station's context. */
  readonly now?: () => number;
}

export const DEFAULT_EVALUATE_OPTIONS: EvaluateOptions = {
  limits: DEFAULT_PATCH_LIMITS,
  protocol: DEFAULT_PROTOCOL,
  observationTimeoutMs: 60_000,
  vetoRetries: 2,
  confirm: true,
};

/**
 * Answers EVALUATION_PASSED or EVALUATION_FAILED. Whatever cannot be checked counts as failed. Throws PeerError when
 * Docker or git fail, UserError when dependencies cannot be installed, BugError when frozen inputs are missing or
 * changed. Safe to call again: everything is evaluated anew, in the same workspaces.
 */
export function createEvaluateStation(deps: EvaluateStationDeps): Station<'evaluate'> {
  const memory = {
    checks: createBaseMemory<BaseCheck>(),
    tests: createBaseMemory<BaseTests>(),
    built: deps.built ?? createBaseMemory<true>(),
  };
  const seedFor = deps.seedFor ?? ((key) => key);
  return async (effect, called): Promise<MachineEvent> => {
    const station = { ...called, now: deps.now ?? called.now };
    const context = contextOf(deps, effect, station);
    const log = createStepLog(station.now, station.progress);
    try {
      const evaluation = await evaluate(context, log, memory, seedFor(effect.key));
      return { type: 'EVALUATION_PASSED', evaluation };
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      return { type: 'EVALUATION_FAILED', failure: failureOf(context, log, error) };
    }
  };
}

/** What one process keeps from attempt to attempt. */
interface EvaluationMemory {
  readonly checks: BaseMemory<BaseCheck>;
  readonly tests: BaseMemory<BaseTests>;
  readonly built: BuiltWorkspaces;
}

/** What a step says: a sentence for the pull request, and what it could not check. */
interface Noted {
  readonly summary: string;
  readonly draftReasons: readonly string[];
}

async function evaluate(
  context: EvaluationContext,
  log: StepLog,
  memory: EvaluationMemory,
  seed: string,
): Promise<EvaluationPassed> {
  const { benchmark, patch } = context;
  const noting = (step: EvaluationStep, work: () => Promise<Noted>): Promise<readonly string[]> =>
    log.run(step, async () => {
      const { summary, draftReasons } = await work();
      return { summary, value: draftReasons };
    });
  const unread = await noting('policy', async () => {
    const { summary, uncheckedPaths } = await checkPolicy(context);
    return { summary, draftReasons: withoutSyntaxTree(uncheckedPaths) };
  });
  const built = await log.run('build', () => build(context, memory.built));
  const unchecked = await noting('checks', () => runChecks(context, built, memory.checks));
  const tested = await log.run('tests', async () => {
    const value = await checkTests(context, built, memory.tests);
    return { summary: value.summary, value };
  });
  const unseen = await noting('changed-lines', () => checkChangedLines(context, built, tested.mode));
  const measured = await measurePatch(context, log, built, seed);
  return {
    outcome: 'passed',
    baseCommit: context.baseCommit,
    tree: patch.tree,
    patchDigest: patch.digest,
    benchmarkSha256: benchmark.sha256,
    steps: log.reports(),
    ...measured,
    draftReasons: [...draftReasons(context), ...unread, ...unchecked, ...tested.draftReasons, ...unseen],
    reproduce: reproduceCommands(context),
  };
}

/** Side by side, as far as the sandbox lets; nothing is timed yet. The patch's failure is told before the base's. */
async function build(context: EvaluationContext, built: BuiltWorkspaces) {
  const { signal, progress } = context.station;
  progress(context.settings.build === null ? 'laying out base and patch' : 'building base and patch');
  const builtPatch = async () => {
    const workspace = await prepareWorkspace(context, 'patch', context.patch.tree, signal);
    await buildWorkspace(context, workspace, 'patch', signal);
    return workspace;
  };
  const [patch, base, copy] = await allSettled([
    builtPatch(),
    builtBase(context, 'base', built, signal),
    builtBase(context, 'copy', built, signal),
  ]);
  const summary =
    context.settings.build === null ? 'The repository has no build command.' : 'Base and patch build.';
  return { summary, value: { base, patch, copy } };
}

function draftReasons({ benchmark, settings }: EvaluationContext): readonly string[] {
  const reasons = [
    benchmark.origin === 'hasten' ? 'The benchmark was written by Hasten, not by the repository.' : null,
    settings.test === null
      ? 'The repository has no test command: only the benchmark compared the outputs.'
      : null,
    heldBackOf(benchmark) === null ? withoutHeldBack(benchmark) : null,
  ];
  return reasons.filter((reason) => reason !== null);
}

/** The checks against gamed benchmarks read JavaScript and TypeScript only. */
function withoutSyntaxTree(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return [];
  return [
    `Nobody checked ${shortList(paths)} for code that games the benchmark: not JavaScript or TypeScript.`,
  ];
}

function shortList(paths: readonly string[]): string {
  const shown = paths.slice(0, 3).join(', ');
  return paths.length > 3 ? `${shown} and ${paths.length - 3} more` : shown;
}

function withoutHeldBack({ kind }: Benchmark): string {
  const why = kind === 'module' ? 'planning made none that works' : `the benchmark is a ${kind}`;
  return `No held-back workload was measured (${why}): the gain may hold for the benchmark's own inputs only.`;
}

function contextOf(
  deps: EvaluateStationDeps,
  effect: Effect<'evaluate'>,
  station: StationContext,
): EvaluationContext {
  const { id, trigger, settings, benchmark, patch } = effect.payload.run;
  if (settings === null || benchmark === null || patch === null) {
    const message = `run ${id} reached evaluating without settings, benchmark or patch`;
    throw new BugError({ code: 'EVALUATE_WITHOUT_PATCH', message });
  }
  return {
    run: id,
    repository: effect.repository,
    baseCommit: trigger.baseCommit,
    settings,
    benchmark,
    patch,
    sandbox: deps.sandbox,
    mirror: deps.mirror,
    options: { ...DEFAULT_EVALUATE_OPTIONS, ...deps.options },
    station,
  };
}

function failureOf(context: EvaluationContext, log: StepLog, error: StepFailed): EvaluationFailed {
  const steps = log.reports();
  return {
    outcome: 'failed',
    baseCommit: context.baseCommit,
    tree: context.patch.tree,
    patchDigest: context.patch.digest,
    steps,
    failedStep: steps.find((step) => !step.ok)?.step ?? 'measurement',
    summary: error.message,
    evidence: error.evidence,
    measurement: error.measurement,
  };
}
