/** Remembers which workspaces of the base are built, so that trial, evaluation and later attempts build each of them once. */
import type { Workspace } from '../domain/sandbox.js';
import type { BaseMemory } from './base-memory.js';
import { buildWorkspace } from './build-step.js';
import { type BaseContext, type EvaluationContext, prepareWorkspace } from './evaluation-context.js';

/** Workspaces of the base whose build has succeeded in this process; its code never changes within a run. */
export type BuiltWorkspaces = BaseMemory<true>;

/**
 * A built workspace of the base under `name`. Nothing but the base's own build ever writes into it: tests, trial and
 * measurement see it read-only, so that one build is enough. Throws StepFailed when the build fails.
 */
export async function builtBase(
  context: BaseContext,
  name: 'base' | 'copy',
  built: BuiltWorkspaces,
  signal: AbortSignal,
): Promise<Workspace> {
  const workspace = await prepareWorkspace(context, name, null, signal);
  const key = JSON.stringify([workspace.ref, context.settings.build]);
  if (built.get(key) === true) return workspace;
  await buildWorkspace(context, workspace, 'base', signal);
  built.set(key, true);
  return workspace;
}

/** A built workspace of its own under `name`, for a command that writes into it. Throws StepFailed when the build fails. */
export async function ownWorkspace(
  context: EvaluationContext,
  side: 'base' | 'patch',
  name: string,
): Promise<Workspace> {
  const { signal } = context.station;
  const tree = side === 'base' ? null : context.patch.tree;
  const workspace = await prepareWorkspace(context, name, tree, signal);
  await buildWorkspace(context, workspace, side, signal);
  return workspace;
}
