/** Executing: the model edits the workspace; the answer is a patch that applies to the base and builds. */
import { createHash } from 'node:crypto';
import type { Effect, Station, StationContext } from '../domain/effect.js';
import { HastenError, PeerError, storedError, UserError } from '../domain/errors.js';
import type { MachineEvent } from '../domain/event.js';
import type { Patch } from '../domain/plan.js';
import { createBaseFiles, untilTouched } from './base-files.js';
import { headAndTail } from './bounded-text.js';
import { editTools } from './edit-tools.js';
import { restoreDiff, takeDiff } from './edited-workspace.js';
import { patchSummarySchema } from './plan-shape.js';
import type { PlannerDeps } from './planner-deps.js';
import { missing, openSession, type PlannerSession, talk } from './planner-session.js';
import { executeSystem, executeTask } from './prompts.js';
import { readTools } from './read-tools.js';
import { defineTool, result, type Tool, type ToolOutcome } from './tool.js';
import { transcript, type WorkspaceShell } from './workspace-shell.js';

const BUILD_OUTPUT_BYTES = 6_000;

/**
 * The station of `execute`. Answers PATCH_READY, or STATION_FAILED with the patch so far when the model did not get there;
 * throws what the engine retries (peers) or pauses on (budget).
 */
export function createExecuteStation(deps: PlannerDeps): Station<'execute'> {
  return async (effect, context) => {
    const session = await openSession(deps, effect, context);
    try {
      const patch = await execute(deps, effect, context, session);
      return { type: 'PATCH_READY', patch };
    } catch (error) {
      return givenUp(deps, session, context, error);
    }
  };
}

async function execute(
  deps: PlannerDeps,
  effect: Effect<'execute'>,
  context: StationContext,
  session: PlannerSession,
): Promise<Patch> {
  const { run, settings, shell } = session;
  if (run.plan === null) throw missing('a plan', effect.kind);
  if (run.benchmark === null) throw missing('a benchmark', effect.kind);
  const previous = run.attempts.findLast((attempt) => attempt.diff !== null)?.diff ?? '';
  const draft = await deps.journal.lastDraft(session.key);
  // Only the very first try finds the workspace as planning, which cannot write, left it.
  const isUntouched = effect.attempt === 1 && session.turns.answered === 0 && run.attempts.length === 0;
  if (!isUntouched) await restoreDiff(shell, draft?.diff ?? previous);
  const diff = keptDiff(shell);
  const outputBytes = deps.limits.toolResultBytes;
  const { baseCommit } = run.trigger;
  const base = createBaseFiles(deps.mirror, effect.repository, baseCommit, outputBytes);
  const { commandTimeoutMs } = deps.limits;
  return talk<Patch>(deps, session, context, {
    system: executeSystem(settings),
    task: executeTask(run, settings, run.plan, run.benchmark, previous === '' ? 'base' : 'previous patch'),
    tools: [
      ...readTools(shell, outputBytes, isUntouched ? untilTouched(base, diff.isTouched) : null),
      ...editTools(shell, { outputBytes, commandTimeoutMs, memoryBytes: settings.memoryBytes }).map(
        diff.watch,
      ),
      finishPatch(deps, effect, context, session, diff),
    ],
    changes: {
      appliedThrough: draft?.turn ?? -1,
      afterChange: async (turn) => deps.journal.saveDraft(session.key, turn, await diff.current()),
    },
  });
}

interface KeptDiff {
  /** The workspace's patch, taken once per change: each taking is a container. */
  current(): Promise<string>;
  /** Whether a watched tool was called. */
  readonly isTouched: () => boolean;
  /** Makes a tool's calls forget what is kept. */
  readonly watch: (tool: Tool) => Tool;
}

function keptDiff(shell: WorkspaceShell): KeptDiff {
  let kept: string | null = null;
  let touched = false;
  return {
    isTouched: () => touched,
    async current() {
      kept ??= await takeDiff(shell);
      return kept;
    },
    watch: (tool) => ({
      ...tool,
      call(argumentsJson) {
        kept = null;
        touched = true;
        return tool.call(argumentsJson);
      },
    }),
  };
}

/** Errors that another try of the same effect cannot heal become the attempt's failure, with the patch so far as evidence. */
async function givenUp(
  deps: PlannerDeps,
  session: PlannerSession,
  context: StationContext,
  error: unknown,
): Promise<MachineEvent> {
  const ours = error instanceof PeerError || error instanceof UserError;
  if (context.signal.aborted || !ours || error.retryable) throw error;
  const draft = await deps.journal.lastDraft(session.key);
  const diff = error instanceof PatchRefused ? error.diff : (draft?.diff ?? '');
  const failed = { type: 'STATION_FAILED', station: 'execute', error: storedError(error) } as const;
  return diff === '' ? failed : { ...failed, diff };
}

/** The model's finished patch does not build, or is none, after it was told so. */
class PatchRefused extends PeerError {
  readonly diff: string;

  constructor(code: string, message: string, diff: string) {
    super({ code, message, retryable: false });
    this.diff = diff;
  }
}

function finishPatch(
  deps: PlannerDeps,
  effect: Effect<'execute'>,
  context: StationContext,
  session: PlannerSession,
  kept: KeptDiff,
): Tool<Patch> {
  let refusals = 0;
  const tellOrThrow = (code: string, message: string, diff: string): ToolOutcome<Patch> => {
    if (refusals >= deps.limits.buildRepairs) throw new PatchRefused(code, message, diff);
    refusals += 1;
    return result(`Not accepted: ${message}\nCorrect it and call finish_patch again.`);
  };
  return defineTool<typeof patchSummarySchema, Patch>({
    name: 'finish_patch',
    description: 'Ends executing: what differs from the base commit now is the patch.',
    schema: patchSummarySchema,
    run: async ({ summary }) => {
      const diff = await kept.current();
      if (diff === '') return tellOrThrow('PATCH_EMPTY', 'nothing differs from the base commit.', diff);
      const patch = await patchOf(deps, effect, session, diff, summary);
      const failure = await buildFailure(context, session);
      if (failure === null) return { kind: 'finished', value: patch };
      // What the build wrote must not slip into the next patch.
      await restoreDiff(session.shell, diff);
      return tellOrThrow('BUILD_FAILED', `the build fails.\n${failure}`, diff);
    },
  });
}

async function patchOf(
  deps: PlannerDeps,
  effect: Effect<'execute'>,
  { run }: PlannerSession,
  diff: string,
  summary: string,
): Promise<Patch> {
  const { baseCommit } = run.trigger;
  try {
    const applied = await deps.mirror.applyPatch(effect.repository, baseCommit, diff);
    const files = applied.changes.map(({ path, additions, deletions }) => ({ path, additions, deletions }));
    const digest = createHash('sha256').update(diff).digest('hex');
    return { baseCommit, tree: applied.tree, diff, digest, files, summary };
  } catch (error) {
    if (error instanceof HastenError && error.code === 'PATCH_DOES_NOT_APPLY') {
      throw new PatchRefused(error.code, error.message, diff);
    }
    throw error;
  }
}

/** Null when the build passes or there is none, else its end as text. */
async function buildFailure(
  context: StationContext,
  { settings, shell }: PlannerSession,
): Promise<string | null> {
  if (settings.build === null) return null;
  context.progress(`builds: ${settings.build}`);
  const done = await shell.run({
    argv: ['sh', '-c', settings.build],
    timeoutMs: settings.timeouts.buildMs,
    memoryBytes: settings.memoryBytes,
  });
  if (done.outcome === 'exited' && done.exitCode === 0) return null;
  return headAndTail(transcript(done), BUILD_OUTPUT_BYTES);
}
