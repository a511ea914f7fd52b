/** Step 2: the repository's build command, in every workspace that is measured or tested. */
import type { Workspace } from '../domain/sandbox.js';
import { type BaseContext, runShell } from './evaluation-context.js';
import { commandEvidence, outcomeOf, succeeded } from './evidence.js';
import { StepFailed } from './step-failed.js';

/** Builds a workspace in place; `side` is the word for people. Does nothing without a build command. Throws StepFailed. */
export async function buildWorkspace(
  context: BaseContext,
  workspace: Workspace,
  side: 'base' | 'patch',
  signal: AbortSignal,
): Promise<void> {
  const command = context.settings.build;
  if (command === null) return;
  const limits = { timeoutMs: context.settings.timeouts.buildMs };
  const result = await runShell(context, workspace, command, limits, signal);
  if (succeeded(result)) return;
  throw new StepFailed({
    code: 'BUILD_FAILED',
    message: `The build fails on the ${side}: the command ${outcomeOf(result)}.`,
    evidence: commandEvidence(`Build on the ${side}`, command, result),
  });
}
