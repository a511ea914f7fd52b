/** What the three stations open the same way: settings, the edited workspace, the paid conversation. */
import type { Effect, StationContext } from '../domain/effect.js';
import { BugError } from '../domain/errors.js';
import type { RunRecord } from '../domain/run.js';
import type { RepositorySettings } from '../domain/settings.js';
import { converse } from './conversation.js';
import { type ModelTurns, openModelTurns } from './model-turn.js';
import type { PlannerDeps } from './planner-deps.js';
import type { Tool } from './tool.js';
import { createWorkingMemory } from './working-memory.js';
import { createWorkspaceShell, type WorkspaceShell } from './workspace-shell.js';

/** The one workspace of a run that the model sees; planning only reads it, executing edits it. */
const WORKSPACE_NAME = 'plan';

export type PlannerEffect = Effect<'plan'> | Effect<'execute'> | Effect<'recover'>;

export interface PlannerSession {
  /** Names the conversation in the journal and its drafts. */
  readonly key: string;
  readonly run: RunRecord;
  readonly settings: RepositorySettings;
  readonly shell: WorkspaceShell;
  readonly turns: ModelTurns;
}

/**
 * A conversation belongs to a run's attempt, not to one effect: after a pause for money the work is intended anew, and
 * goes on from the last paid answer instead of paying for the same turns again.
 */
function conversationKey({ kind, payload: { run } }: PlannerEffect): string {
  return `${run.id}:${kind}:${run.attempt}`;
}

/** Makes the workspace ready and opens the journal of the conversation. */
export async function openSession(
  deps: PlannerDeps,
  effect: PlannerEffect,
  context: StationContext,
): Promise<PlannerSession> {
  const { run } = effect.payload;
  const { settings } = run;
  if (settings === null) throw missing('settings', effect.kind);
  const { repository } = effect;
  await deps.mirror.fetch(repository, run.trigger.baseCommit, context.signal);
  context.progress('makes the workspace ready');
  const workspace = await deps.sandbox.prepare(
    {
      run: run.id,
      name: WORKSPACE_NAME,
      repository,
      baseCommit: run.trigger.baseCommit,
      tree: null,
      install: settings.install,
      git: true,
    },
    context.signal,
  );
  const key = conversationKey(effect);
  const turns = await openModelTurns(
    deps,
    { effectKey: key, run: run.id, repository, runLimitUsd: settings.budgetUsd + run.grantedUsd },
    context,
  );
  return { key, run, settings, shell: createWorkspaceShell(deps.sandbox, workspace, context.signal), turns };
}

export interface Talk<Result> {
  readonly system: string;
  readonly task: string;
  readonly tools: readonly Tool<Result>[];
  /** See `ConversationSpec`; left out by stations that only read. */
  readonly changes?: {
    readonly appliedThrough: number;
    readonly afterChange: (turn: number) => Promise<void>;
  };
}

/** Runs the conversation of a session to its end. */
export function talk<Result>(
  deps: PlannerDeps,
  session: PlannerSession,
  context: StationContext,
  spec: Talk<Result>,
): Promise<Result> {
  const { contextTokens, toolResultBytes, maxTurns } = deps.limits;
  return converse({
    turns: session.turns,
    memory: createWorkingMemory({
      system: spec.system,
      task: spec.task,
      tokenBudget: contextTokens,
      toolResultBytes,
    }),
    tools: spec.tools,
    maxTurns,
    appliedThrough: spec.changes?.appliedThrough ?? -1,
    afterChange: spec.changes?.afterChange ?? (() => Promise.resolve()),
    progress: context.progress,
    signal: context.signal,
  });
}

/** For records that the machine must have filled before it intended the effect. */
export function missing(what: string, kind: string): BugError {
  return new BugError({
    code: 'RUN_INCOMPLETE',
    message: `The ${kind} effect came without ${what} in its run.`,
  });
}
