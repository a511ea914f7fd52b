/** Plants failing tests beside the real ones: a patch on which they are not seen to fail has bent the tests, not passed them. */
import { randomBytes } from 'node:crypto';
import { isRegularFile } from '../../config/project-detection.js';
import type { Workspace } from '../../domain/sandbox.js';
import { buildWorkspace } from '../build-step.js';
import { type EvaluationContext, prepareWorkspace } from '../evaluation-context.js';
import { commandEvidence, outcomeOf, succeeded } from '../evidence.js';
import { PATH_CLASSES } from '../path-rules.js';
import { StepFailed } from '../step-failed.js';
import { type PlantedFile, planted, syntaxOf } from './planted-texts.js';
import type { TestResult, TestRunner } from './results/test-result.js';
import { runTests, type TestCommand, type TestMode, type TestRun } from './test-run.js';

/** What the base's planted run showed, and so what must be seen on the patch. */
export type Planting =
  /** The report listed them: by file, the labels that were seen to fail. */
  | {
      readonly seenBy: 'report';
      readonly files: readonly PlantPlace[];
      readonly seen: readonly SeenFailure[];
    }
  /** The command failed because of them. */
  | { readonly seenBy: 'exit-code'; readonly files: readonly PlantPlace[] }
  /** Nobody noticed; `why` ends the sentence "the tests could not be checked with a planted failing test: …". */
  | { readonly seenBy: 'nobody'; readonly why: string };

/** A test file and the runner that reported it. */
interface PlantPlace {
  readonly path: string;
  readonly runner: TestRunner | null;
}

interface SeenFailure {
  /** As the report tells it; empty where it tells none. */
  readonly file: string;
  readonly label: string;
}

const MOST_FILES = 100;
const MOST_FILES_WITHOUT_REPORT = 20;
const MOST_FILE_BYTES = 512 * 1024;

export interface PlantRequest {
  readonly command: TestCommand;
  readonly mode: TestMode;
}

/** Plants on the base. `results`: of its tests without planting; `exitsZero`: whether the command succeeds then. */
export async function plantOnBase(
  context: EvaluationContext,
  request: PlantRequest,
  normal: { readonly results: readonly TestResult[] | null; readonly exitsZero: boolean },
): Promise<Planting> {
  const files = await filesToPlantIn(context, request.command, normal.results);
  if (files.length === 0) return { seenBy: 'nobody', why: 'no test file of a known kind was found' };
  const run = await runPlanted(context, 'base', request, files, null).catch((error: unknown) => {
    if (error instanceof StepFailed) return null;
    throw error;
  });
  if (run === null) return { seenBy: 'nobody', why: 'the base does not build with it' };
  const { result } = run.run;
  if (succeeded(result))
    return { seenBy: 'nobody', why: 'the command succeeds on the base although it is there' };
  const seen = failuresOf(run.run, run.token);
  if (seen.length > 0) {
    // A runner that stops at the first failure may stop at another one next time.
    const certain = /\bbail\b/.test(request.command.text) ? seen.slice(0, 1) : seen;
    const named = new Set(certain.map(({ file }) => file));
    const told = files.filter(({ path }) => named.has(path));
    return { seenBy: 'report', files: told.length === 0 ? files : told, seen: certain };
  }
  if (result.outcome === 'exited' && normal.exitsZero) return { seenBy: 'exit-code', files };
  return { seenBy: 'nobody', why: `the command ${outcomeOf(result)} on the base and does not name it` };
}

/** Plants on the patch what was noticed on the base. Throws StepFailed `TEST_REPORT_NOT_TRUSTED` when it is not noticed here. */
export async function plantOnPatch(
  context: EvaluationContext,
  request: PlantRequest,
  planting: Planting,
): Promise<void> {
  if (planting.seenBy === 'nobody') return;
  const labels = planting.seenBy === 'report' ? new Set(planting.seen.map(({ label }) => label)) : null;
  const { run, token } = await runPlanted(context, 'patch', request, planting.files, labels);
  const missing = planting.seenBy === 'report' ? unseen(planting.seen, failuresOf(run, token)) : [];
  if (!succeeded(run.result) && missing.length === 0) return;
  const [first] = missing;
  const what = succeeded(run.result)
    ? 'the test command succeeds although failing tests were planted'
    : `a planted failing test (${first?.label} in ${first?.file || 'a test file'}) is not reported as failed`;
  throw new StepFailed({
    code: 'TEST_REPORT_NOT_TRUSTED',
    message: `The tests' report is not trusted: on the patch ${what}, on the base they are seen to fail.`,
    evidence: [
      'Failing tests were appended to test files; the base reports them as failed, the patch does not.',
      'The patch changes how assertions, the test runner or the process behave.',
      ...missing
        .slice(0, 20)
        .map(({ file, label }) => `not seen to fail: ${label} in ${file || 'a test file'}`),
      commandEvidence('Planted run on the patch', request.command.command, run.result),
    ].join('\n'),
  });
}

function unseen(expected: readonly SeenFailure[], seen: readonly SeenFailure[]): readonly SeenFailure[] {
  const left = seen.map(keyOf);
  return expected.filter((failure) => {
    const at = left.indexOf(keyOf(failure));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

function keyOf({ file, label }: SeenFailure): string {
  return `${file}\0${label}`;
}

async function runPlanted(
  context: EvaluationContext,
  side: 'base' | 'patch',
  { command, mode }: PlantRequest,
  files: readonly PlantPlace[],
  labels: ReadonlySet<string> | null,
): Promise<{ readonly run: TestRun; readonly token: string }> {
  const { signal } = context.station;
  // An identifier in every language; by chance, so that the code under test cannot look for it.
  const token = `q${randomBytes(6).toString('hex')}`;
  const overlay = new Map<string, string>();
  for (const { path, runner } of files) {
    const file = await readTestFile(context, side, path);
    const syntax = file === null ? null : syntaxOf(path, file.content, runner);
    if (file === null || syntax === null) continue;
    const changed = planted(file, syntax, token, labels);
    overlay.set(changed.path, changed.content);
  }
  const tree = side === 'base' ? null : context.patch.tree;
  const workspace: Workspace = await prepareWorkspace(context, `${side}-planted`, tree, signal, overlay);
  await buildWorkspace(context, workspace, side, signal);
  return { run: await runTests(context, workspace, command, mode, signal), token };
}

async function readTestFile(
  context: EvaluationContext,
  side: 'base' | 'patch',
  path: string,
): Promise<PlantedFile | null> {
  const treeish = side === 'base' ? context.baseCommit : context.patch.tree;
  const content = await context.mirror.readFile(context.repository, treeish, path);
  return content === null || content.byteLength > MOST_FILE_BYTES
    ? null
    : { path, content: content.toString('utf8') };
}

function failuresOf(run: TestRun, token: string): readonly SeenFailure[] {
  const pattern = new RegExp(`${token}_(\\w{1,40})`);
  return (run.results ?? []).flatMap(({ id, file, outcome }) => {
    const label = outcome === 'failed' ? pattern.exec(id)?.[1] : undefined;
    return label === undefined ? [] : [{ file: file ?? '', label }];
  });
}

/** Files that ran, by the report; else those that the command names; else those that look like tests by their path. */
async function filesToPlantIn(
  context: EvaluationContext,
  { text }: TestCommand,
  results: readonly TestResult[] | null,
): Promise<readonly PlantPlace[]> {
  const entries = await context.mirror.listFiles(context.repository, context.baseCommit);
  const known = entries.filter((entry) => isRegularFile(entry) && entry.size <= MOST_FILE_BYTES);
  const paths = new Set(known.map(({ path }) => path).filter((path) => syntaxOf(path, '', null) !== null));
  const reported = new Map(
    (results ?? []).flatMap(({ file, outcome, runner }) =>
      file !== null && outcome === 'passed' ? [[file, runner] as const] : [],
    ),
  );
  const ran = [...reported]
    .filter(([path]) => paths.has(path))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  if (ran.length > 0) return ran.slice(0, MOST_FILES).map(([path, runner]) => ({ path, runner }));
  const words = new Set(text.split(/[\s'"]+/).map((word) => word.replace(/^\.\//, '')));
  const named = [...words].filter((word) => paths.has(word));
  const guessed = named.length > 0 ? named : [...paths].filter(isTestPath).sort();
  const runner = results?.[0]?.runner ?? null;
  return guessed.slice(0, MOST_FILES_WITHOUT_REPORT).map((path) => ({ path, runner }));
}

function isTestPath(path: string): boolean {
  const segments = path.toLowerCase().split('/');
  const tests = PATH_CLASSES.find(({ name }) => name === 'tests');
  const file = segments.at(-1) ?? '';
  return tests?.matches(segments, file) === true || /(^test_.*\.py|_test\.(py|go))$/.test(file);
}
