/** Single steps of the evaluation on a real engine, for tests that need neither policy nor measurement. */
import type { Patch } from '../../src/domain/plan.js';
import type { Workspace } from '../../src/domain/sandbox.js';
import { createBaseMemory } from '../../src/evaluator/base-memory.js';
import { buildWorkspace } from '../../src/evaluator/build-step.js';
import { builtBase } from '../../src/evaluator/built-workspaces.js';
import { DEFAULT_EVALUATE_OPTIONS } from '../../src/evaluator/evaluate-station.js';
import { type EvaluationContext, prepareWorkspace } from '../../src/evaluator/evaluation-context.js';
import type { CommittedSubject } from './evaluation-rig.js';
import type { SandboxRig } from './sandbox-rig.js';

export interface BuiltSides {
  readonly context: EvaluationContext;
  readonly built: { readonly base: Workspace; readonly patch: Workspace };
}

/** Base and patch as the steps behind the build find them. */
export async function builtSides(
  rig: SandboxRig,
  subject: CommittedSubject,
  patch: Patch,
  run: string,
): Promise<BuiltSides> {
  const signal = new AbortController().signal;
  const { repository, baseCommit, settings, benchmark } = subject;
  const context: EvaluationContext = {
    run,
    repository: repository.ref,
    baseCommit,
    settings,
    benchmark,
    patch,
    sandbox: rig.sandbox,
    mirror: rig.mirror,
    options: DEFAULT_EVALUATE_OPTIONS,
    station: { signal, now: Date.now, progress: () => {} },
  };
  await rig.mirror.fetch(repository.ref, baseCommit, signal);
  await rig.mirror.applyPatch(repository.ref, baseCommit, patch.diff);
  const base = await builtBase(context, 'base', createBaseMemory(), signal);
  const workspace = await prepareWorkspace(context, 'patch', patch.tree, signal);
  await buildWorkspace(context, workspace, 'patch', signal);
  return { context, built: { base, patch: workspace } };
}
