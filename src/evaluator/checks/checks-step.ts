/** Step 3: types, lint and format as the repository defines them; the patch must bring no finding that the base has not. */
import type { CommandResult, Workspace } from '../../domain/sandbox.js';
import type { RepositorySettings } from '../../domain/settings.js';
import { allSettled } from '../all-settled.js';
import type { BaseMemory } from '../base-memory.js';
import { ownWorkspace } from '../built-workspaces.js';
import { type EvaluationContext, runShell } from '../evaluation-context.js';
import { clipped, commandEvidence, outcomeOf, succeeded } from '../evidence.js';
import { StepFailed } from '../step-failed.js';
import { findingLines, newFindings } from './findings.js';

type CheckName = keyof RepositorySettings['checks'];

/** What a check says of the base. */
export type BaseCheck =
  | { readonly state: 'clean'; readonly readOnly: boolean }
  | { readonly state: 'findings'; readonly readOnly: boolean; readonly lines: readonly string[] }
  /** It cannot run there, so it says nothing of a patch; `why` is one clause. */
  | { readonly state: 'unusable'; readonly why: string };

export interface ChecksDone {
  /** For the pull request. */
  readonly summary: string;
  /** What could not be checked, one sentence each. */
  readonly draftReasons: readonly string[];
}

interface Check {
  readonly name: CheckName;
  readonly command: string;
}

/** Bytes kept per stream, so that all findings of a large repository can be compared. */
const OUTPUT_BYTES = 8 * 2 ** 20;
const MOST_NAMED = 3;
const MOST_LISTED = 40;
const TITLES: Readonly<Record<CheckName, string>> = { types: 'Types', lint: 'Lint', format: 'Format' };
/** What shells and package managers write when a program is missing and they do not pass its code on. */
const NOT_FOUND =
  /(?:^|\n)[^\n]{0,200}(?:: not found|command not found|ERR_MODULE_NOT_FOUND|Cannot find module '[^']{0,300}\/node_modules\/)/;

/** Runs the checks of base (unless remembered) and patch in built workspaces. Throws StepFailed `NEW_FINDINGS`. */
export async function runChecks(
  context: EvaluationContext,
  built: { readonly base: Workspace; readonly patch: Workspace },
  memory: BaseMemory<BaseCheck>,
): Promise<ChecksDone> {
  const checks = checksOf(context.settings);
  if (checks.length === 0) {
    return { summary: 'The repository defines no checks of types, lint or format.', draftReasons: [] };
  }
  const places = {
    base: workspaces(context, 'base', built.base),
    patch: workspaces(context, 'patch', built.patch),
  };
  context.station.progress(`checking ${checks.map(({ name }) => name).join(', ')}`);
  const outcomes = await allSettled(
    checks.map(async (check) => {
      const key = JSON.stringify([context.run, context.baseCommit, check.command, context.settings.build]);
      const base = memory.get(key) ?? (await checkBase(context, places.base, check));
      memory.set(key, base);
      if (base.state !== 'unusable') await checkPatch(context, places.patch, check, base);
      return { check, base };
    }),
  );
  return {
    summary: outcomes.map(({ check, base }) => sentence(check, base)).join(' '),
    draftReasons: outcomes.flatMap(({ check, base }) =>
      base.state === 'unusable' ? [sentence(check, base)] : [],
    ),
  };
}

function checksOf({ checks }: RepositorySettings): readonly Check[] {
  const names: readonly CheckName[] = ['types', 'lint', 'format'];
  return names.flatMap((name) => {
    const command = checks[name];
    return command === null ? [] : [{ name, command }];
  });
}

interface Places {
  readonly readOnly: Workspace;
  /** Made when the first check asks for it; only checks write into it. */
  writable(): Promise<Workspace>;
}

function workspaces(context: EvaluationContext, side: 'base' | 'patch', built: Workspace): Places {
  let own: Promise<Workspace> | null = null;
  return {
    readOnly: built,
    writable() {
      own ??= ownWorkspace(context, side, `${side}-checks`);
      return own;
    },
  };
}

/** Read-only first; a check that fails there is run again where it may write, since many keep a cache. */
async function checkBase(context: EvaluationContext, places: Places, check: Check): Promise<BaseCheck> {
  const readOnly = await runCheck(context, places.readOnly, check, true);
  if (succeeded(readOnly)) return { state: 'clean', readOnly: true };
  const missing = whyUnusable(readOnly);
  if (missing !== null) return { state: 'unusable', why: missing };
  const writable = await runCheck(context, await places.writable(), check, false);
  if (succeeded(writable)) return { state: 'clean', readOnly: false };
  const why = whyUnusable(writable);
  if (why !== null) return { state: 'unusable', why };
  const [before, lines] = [linesOf(readOnly), linesOf(writable)];
  const same = newFindings(before, lines).length === 0 && newFindings(lines, before).length === 0;
  return { state: 'findings', readOnly: same, lines };
}

async function checkPatch(
  context: EvaluationContext,
  places: Places,
  check: Check,
  base: Exclude<BaseCheck, { state: 'unusable' }>,
): Promise<void> {
  const workspace = base.readOnly ? places.readOnly : await places.writable();
  const result = await runCheck(context, workspace, check, base.readOnly);
  if (succeeded(result)) return;
  const evidence = commandEvidence(`${TITLES[check.name]} on the patch`, check.command, result);
  const ended = result.outcome === 'exited' && !isCut(result);
  const found = newFindings(base.state === 'findings' ? base.lines : [], linesOf(result));
  if (base.state === 'findings' && ended && found.length === 0) return;
  const shown = found.slice(0, MOST_NAMED).map((line) => clipped(line, 300));
  const more = found.length > MOST_NAMED ? ` (and ${found.length - MOST_NAMED} more lines)` : '';
  const what = ended && shown.length > 0 ? `: ${shown.join(' | ')}${more}` : '';
  throw new StepFailed({
    code: 'NEW_FINDINGS',
    message: `${TITLES[check.name]} (\`${check.command}\`) ${outcomeOf(result)} on the patch and finds what the base has not${what}.`,
    evidence: clipped(
      ['New lines:', ...found.slice(0, MOST_LISTED).map((line) => `- ${line}`), evidence].join('\n'),
    ),
  });
}

function runCheck(
  context: EvaluationContext,
  workspace: Workspace,
  { command }: Check,
  readOnlyWorkspace: boolean,
): Promise<CommandResult> {
  const limits = {
    timeoutMs: context.settings.timeouts.buildMs,
    readOnlyWorkspace,
    outputBytes: OUTPUT_BYTES,
  };
  return runShell(context, workspace, command, limits, context.station.signal);
}

/** Why a failure says nothing of the code, or null where it may be about findings. */
function whyUnusable(result: CommandResult): string | null {
  if (result.outcome !== 'exited') return `the command ${outcomeOf(result)}`;
  if (result.exitCode === 126 || result.exitCode === 127 || NOT_FOUND.test(textOf(result))) {
    return `a program is missing (exit code ${result.exitCode})`;
  }
  return isCut(result) ? 'it finds more than can be compared' : null;
}

function isCut({ stdout, stderr }: CommandResult): boolean {
  return stdout.truncated || stderr.truncated;
}

function linesOf(result: CommandResult): readonly string[] {
  return findingLines(textOf(result));
}

function textOf({ stdout, stderr }: CommandResult): string {
  return `${stdout.text}\n${stderr.text}`;
}

function sentence({ name, command }: Check, base: BaseCheck): string {
  const title = `${TITLES[name]} (\`${command}\`)`;
  switch (base.state) {
    case 'clean':
      return `${title} passes.`;
    case 'findings':
      return `${title} fails on the base already; the patch adds no finding.`;
    case 'unusable':
      return `${title} was not checked: it cannot be run on the base, ${base.why}.`;
  }
}
