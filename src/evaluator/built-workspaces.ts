/** Remembers which workspaces of the base are built, so that trial, evaluation and later attempts build each of them once. */
import type { Workspace } from '../domain/sandbox.js';
import { buildWorkspace } from './build-step.js';
import { type BaseContext, prepareWorkspace } from './evaluation-context.js';

/** Keys of workspaces whose build has succeeded in this process; only the base's, whose code never changes within a run. */
export interface BuiltWorkspaces {
  has(key: string): boolean;
  add(key: string): void;
}

const MOST_REMEMBERED = 300;

/** In memory; the oldest entry goes when there are too many. Whatever is forgotten is only built again. */
export function createBuiltWorkspaces(): BuiltWorkspaces {
  const known = new Set<string>();
  return {
    has: (key) => known.has(key),
    add(key) {
      known.add(key);
      const [oldest] = known;
      if (known.size > MOST_REMEMBERED && oldest !== undefined) known.delete(oldest);
    },
  };
}

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
  if (built.has(key)) return workspace;
  await buildWorkspace(context, workspace, 'base', signal);
  built.add(key);
  return workspace;
}
