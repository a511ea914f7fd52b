/** Lays out and builds the three workspaces of a comparison, and finds the module under test of a published package. */
import { fileURLToPath } from 'node:url';
import { UserError } from '../domain/errors.js';
import type { Benchmark } from '../domain/plan.js';
import type { Sandbox, Workspace } from '../domain/sandbox.js';
import { allSettled } from '../evaluator/all-settled.js';
import { frozenOverlay } from '../evaluator/evaluation-context.js';
import { commandEvidence, outcomeOf, succeeded } from '../evaluator/evidence.js';
import { StepFailed } from '../evaluator/step-failed.js';
import { OVERLAY_DIRECTORY, type Side } from './benchmark-choice.js';

export interface ComparedWorkspaces {
  /** `patch` is head. */
  readonly workspaces: Readonly<Record<'base' | 'copy' | 'patch', Workspace>>;
  /** With the entry filled in. */
  readonly benchmark: Benchmark;
  /** The module under test for people: both paths where they differ, null where the kind has none. */
  readonly shownEntry: string | null;
}

export interface LayOutRequest {
  readonly run: string;
  readonly sandbox: Sandbox;
  /** Where workspaces stand for the programs in them; null: each workspace's `ref` is its folder. */
  readonly workspaceRoot: string | null;
  readonly base: Side;
  readonly head: Side;
  readonly benchmark: Benchmark;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Stands for the module under test where it has another path on each side. */
const ENTRY_PATH = `${OVERLAY_DIRECTORY}/entry.mjs`;
const RESOLVE = 'process.stdout.write(import.meta.resolve(process.argv[1]))';
const RESOLVE_TIMEOUT_MS = 60_000;

/** Throws UserError `INSTALL_FAILED` or `NO_ENTRY`, StepFailed when a build fails. */
export async function layOut(request: LayOutRequest): Promise<ComparedWorkspaces> {
  const { benchmark } = request;
  const nothing: ReadonlyMap<string, string> = new Map();
  const workspaces = await builtWorkspaces(request, { base: nothing, head: nothing });
  if (benchmark.kind !== 'module') return { workspaces, benchmark, shownEntry: null };
  if (benchmark.entry !== '') return { workspaces, benchmark, shownEntry: benchmark.entry };
  const base = await packageEntry(request, request.base, workspaces.base);
  const head = await packageEntry(request, request.head, workspaces.patch);
  if (base === head) return { workspaces, benchmark: { ...benchmark, entry: base }, shownEntry: base };
  // One path for both sides, so that the benchmark is started alike.
  const standIns = {
    base: new Map([[ENTRY_PATH, standIn(base)]]),
    head: new Map([[ENTRY_PATH, standIn(head)]]),
  };
  return {
    workspaces: await builtWorkspaces(request, standIns),
    benchmark: { ...benchmark, entry: ENTRY_PATH },
    shownEntry: `${base} of base, ${head} of head`,
  };
}

type ExtraFiles = Readonly<Record<'base' | 'head', ReadonlyMap<string, string>>>;

async function builtWorkspaces(
  request: LayOutRequest,
  extra: ExtraFiles,
): Promise<ComparedWorkspaces['workspaces']> {
  const { base, head, progress } = request;
  const builds = base.settings.build !== null || head.settings.build !== null;
  progress(builds ? 'installing and building base and head' : 'laying out base and head');
  const [first, copy, patch] = await allSettled([
    builtWorkspace(request, 'base', base, extra.base),
    builtWorkspace(request, 'copy', base, extra.base),
    builtWorkspace(request, 'patch', head, extra.head),
  ]);
  return { base: first, copy, patch };
}

async function builtWorkspace(
  { run, sandbox, benchmark, signal }: LayOutRequest,
  name: 'base' | 'copy' | 'patch',
  { subject, settings }: Side,
  extra: ReadonlyMap<string, string>,
): Promise<Workspace> {
  const { repository, commit: baseCommit } = subject;
  const overlay = new Map([...extra, ...(await frozenOverlay(benchmark))]);
  const spec = { run, name, repository, baseCommit, tree: null, install: settings.install, overlay };
  const workspace = await sandbox.prepare(spec, signal);
  if (settings.build === null) return workspace;
  const command = { argv: ['sh', '-c', settings.build], timeoutMs: settings.timeouts.buildMs };
  const result = await sandbox.run(workspace, { ...command, memoryBytes: settings.memoryBytes }, signal);
  if (succeeded(result)) return workspace;
  const side = name === 'patch' ? 'head' : 'base';
  throw new StepFailed({
    code: 'BUILD_FAILED',
    message: `The build fails on ${side}: the command ${outcomeOf(result)}.`,
    evidence: commandEvidence(`Build on ${side}`, settings.build, result),
  });
}

/** The path that importing the package gives, as Node itself resolves it; from the root of the workspace. */
async function packageEntry(request: LayOutRequest, side: Side, workspace: Workspace): Promise<string> {
  const { packageName, given } = side.subject;
  const argv = ['node', '--input-type=module', '-e', RESOLVE, packageName ?? ''];
  const command = { argv, timeoutMs: RESOLVE_TIMEOUT_MS, readOnlyWorkspace: true };
  const result = await request.sandbox.run(workspace, command, request.signal);
  const root = `${request.workspaceRoot ?? workspace.ref}/`;
  const url = succeeded(result) && URL.canParse(result.stdout.text) ? new URL(result.stdout.text) : null;
  const path = url?.protocol === 'file:' ? fileURLToPath(url) : '';
  if (path.startsWith(`${root}node_modules/`)) return path.slice(root.length);
  throw new UserError({
    code: 'NO_ENTRY',
    message: `compare: ${given} has no module that can be imported by the package's name; pass --entry PATH inside the package.`,
  });
}

function standIn(entry: string): string {
  const path = JSON.stringify(`../${entry}`);
  return `import * as entry from ${path};\nexport * from ${path};\nexport default entry.default;\n`;
}
