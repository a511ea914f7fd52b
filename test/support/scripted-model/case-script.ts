/** Scripts for the scripted model, made from a real change: it plans and edits through the same tools that any model gets. */
import type { ConversationView } from './conversation-view.js';
import { editSteps, type ToolStep } from './edit-steps.js';

/** What the model answers: tool calls, or only words. */
export interface ScriptedAnswer {
  readonly calls: readonly ToolStep[];
  readonly text?: string;
}

/** Decides from the conversation alone, so a service that was restarted goes on where it was. */
export type ModelScript = (view: ConversationView) => ScriptedAnswer;

export interface ScriptPlan {
  readonly title: string;
  readonly hypothesis: string;
  readonly measurement: string;
  readonly risk: string;
}

export interface CaseForScript {
  /** Content at the base commit, by path. */
  readonly baseFiles: ReadonlyMap<string, Buffer>;
  /** Content after the real change, by path. */
  readonly fixFiles: ReadonlyMap<string, Buffer>;
  /** Paths of the change; default all of `fixFiles`. */
  readonly diffFiles?: readonly string[];
  readonly plan?: Partial<ScriptPlan>;
  /** Source of the held-back workload that planning hands over; left out: it hands over none, also when told to. */
  readonly heldBack?: string;
}

const DEFAULT_PLAN: ScriptPlan = {
  title: 'Take the short way where the input allows it',
  hypothesis: 'The hot path repeats work that its result does not need; doing it once is enough.',
  measurement: 'The benchmark runs the reported workload; its time per operation should fall.',
  risk: 'Inputs off the hot path could change; they keep going through the code as it was.',
};

/** Plays the real change: reads, plans, edits each file, checks, finishes; after a failed evaluation it has no further idea. */
export function scriptFromCase(subject: CaseForScript): ModelScript {
  return steppedScript({
    planning: planningSteps(subject, {}),
    executing: () => changeSteps(subject, fixContents(subject)),
    recovering: () => [noFurtherIdea()],
  });
}

/** Plays a harmless patch that makes nothing faster: a comment in the first file of the change. */
export function rejectScript(subject: CaseForScript): ModelScript {
  const path = changed(subject)[0] ?? 'index.js';
  const before = subject.baseFiles.get(path)?.toString('utf8') ?? '';
  const lines = before.startsWith('#!') ? before.indexOf('\n') + 1 : 0;
  const after = `${before.slice(0, lines)}// The reported workload passes through here.\n${before.slice(lines)}`;
  const plan = {
    title: 'Say where the reported workload passes',
    hypothesis: 'A remark helps the next reader.',
  };
  return steppedScript({
    planning: planningSteps({ ...subject, plan: { ...plan, ...subject.plan } }, {}),
    executing: () => changeSteps({ ...subject, diffFiles: [path] }, new Map([[path, after]])),
    recovering: () => [noFurtherIdea()],
  });
}

/** First attempt: `brokenFiles` (default: the first file of the change throws when loaded); then a new plan and the real change. */
export function breaksTestThenFixes(
  subject: CaseForScript,
  brokenFiles: ReadonlyMap<string, string> = throwing(subject),
): ModelScript {
  return steppedScript({
    planning: planningSteps(subject, {}),
    // The second attempt starts from the broken patch, so whole files are written.
    executing: (attempt) =>
      attempt === 1
        ? changeSteps(subject, brokenFiles)
        : [...changed(subject).flatMap((path) => wholeFile(subject, path)), check(), finishPatch()],
    recovering: (attempt) =>
      attempt > 2
        ? [noFurtherIdea()]
        : [
            { tool: 'search', arguments: { pattern: 'throw|export' } },
            {
              tool: 'update_plan',
              arguments: planFields(subject, 'Keep the behaviour, and only then be fast'),
            },
          ],
  });
}

/** For a repository without a benchmark: planning hands over `source` (an ES module with run and checksum). */
export function writesBenchmark(
  subject: CaseForScript,
  benchmark: { readonly source: string; readonly entry?: string },
): ModelScript {
  return steppedScript({
    planning: planningSteps(subject, { benchmark }),
    executing: () => changeSteps(subject, fixContents(subject)),
    recovering: () => [noFurtherIdea()],
  });
}

/** Planning that ends with `nothing_to_gain`. */
export function findsNothing(reason: string): ModelScript {
  const steps: readonly ScriptedTurn[] = [
    { tool: 'list_files', arguments: {} },
    { tool: 'nothing_to_gain', arguments: { reason } },
  ];
  return steppedScript({
    planning: steps,
    executing: () => [finishPatch()],
    recovering: () => [noFurtherIdea()],
  });
}

/** One answer of the model: a tool call, or several at once. */
export type ScriptedTurn = ToolStep | readonly ToolStep[];

interface SteppedScript {
  readonly planning: readonly ScriptedTurn[];
  readonly executing: (attempt: number) => readonly ScriptedTurn[];
  readonly recovering: (attempt: number) => readonly ScriptedTurn[];
}

/** One turn per answer; past the end the last one is repeated, as a stubborn model would. */
export function steppedScript(script: SteppedScript): ModelScript {
  return (view) => {
    const turns = view.station === 'planning' ? script.planning : script[view.station](view.attempt);
    const turn = turns[Math.min(view.position, turns.length - 1)];
    if (turn === undefined) return { calls: [], text: 'Nothing left to do.' };
    return { calls: 'tool' in turn ? [turn] : turn };
  };
}

function planningSteps(
  subject: CaseForScript,
  extra: Readonly<Record<string, unknown>>,
): readonly ScriptedTurn[] {
  const reads = changed(subject)
    .filter((path) => subject.baseFiles.has(path))
    .slice(0, 2)
    .map((path): ToolStep => ({ tool: 'read_file', arguments: { path } }));
  return [
    { tool: 'list_files', arguments: {} },
    ...(reads.length === 0 ? [] : [reads]),
    { tool: 'finish_plan', arguments: { ...planFields(subject), ...heldBackField(subject), ...extra } },
  ];
}

function heldBackField({ heldBack }: CaseForScript): Readonly<Record<string, unknown>> {
  return heldBack === undefined ? {} : { heldBack: { source: heldBack } };
}

function planFields(subject: CaseForScript, title?: string): Readonly<Record<string, unknown>> {
  const files = changed(subject);
  return {
    ...DEFAULT_PLAN,
    ...subject.plan,
    ...(title === undefined ? {} : { title }),
    files,
    steps: files.map((path) => `Change ${path}`),
  };
}

/** Reads what it will change, then changes one file per turn, then looks at the result and finishes. */
function changeSteps(subject: CaseForScript, after: ReadonlyMap<string, string>): readonly ScriptedTurn[] {
  const paths = [...after.keys()].filter((path) => subject.baseFiles.has(path));
  const reads = paths.map((path): ToolStep => ({ tool: 'read_file', arguments: { path } }));
  const edits = [...after].map(([path, content]) =>
    editSteps(path, subject.baseFiles.get(path)?.toString('utf8') ?? null, content),
  );
  return [reads, ...edits, check(), finishPatch()].filter((turn) => 'tool' in turn || turn.length > 0);
}

function wholeFile(subject: CaseForScript, path: string): readonly ToolStep[] {
  const content = subject.fixFiles.get(path)?.toString('utf8');
  return content === undefined ? [] : [{ tool: 'write_file', arguments: { path, content } }];
}

function throwing(subject: CaseForScript): ReadonlyMap<string, string> {
  const path = changed(subject)[0] ?? 'index.js';
  const before = subject.baseFiles.get(path)?.toString('utf8') ?? '';
  return new Map([[path, `${before}\nthrow new Error('not finished');\n`]]);
}

function changed(subject: CaseForScript): readonly string[] {
  return subject.diffFiles ?? [...subject.fixFiles.keys()];
}

/** Content after the real change of the files that belong to it. */
function fixContents(subject: CaseForScript): ReadonlyMap<string, string> {
  return new Map(
    changed(subject).flatMap((path) => {
      const content = subject.fixFiles.get(path);
      return content === undefined ? [] : [[path, content.toString('utf8')] as const];
    }),
  );
}

function check(): ToolStep {
  return { tool: 'run_command', arguments: { command: 'git status --short && git diff --stat' } };
}

function finishPatch(): ToolStep {
  const summary =
    'Carried out the plan in the files that it names; behaviour for all other inputs is untouched.';
  return { tool: 'finish_patch', arguments: { summary } };
}

function noFurtherIdea(): ToolStep {
  const reason = 'The measurement leaves nothing that another small change would improve.';
  return { tool: 'no_further_idea', arguments: { reason } };
}
