/** Step 1: the patch is rebuilt from base and diff, must make exactly the tree it claims, pass the policy and game nothing. */
import { createHash } from 'node:crypto';
import { BugError, UserError } from '../domain/errors.js';
import { type Benchmark, heldBackOf } from '../domain/plan.js';
import type { AppliedPatch, TreeChange } from '../domain/repository.js';
import type { CheatFinding, SourceChange } from './cheat-checks/cheat-finding.js';
import { uncheckedPaths } from './cheat-checks/find-cheats.js';
import { DEFAULT_CHEAT_CHECK_LIMITS, runCheatChecks } from './cheat-checks/run-cheat-checks.js';
import { type EvaluationContext, frozenFiles } from './evaluation-context.js';
import { clipped } from './evidence.js';
import { patchRefusals } from './patch-policy.js';
import { StepFailed } from './step-failed.js';

export interface PolicyAnswer {
  /** One sentence for the pull request. */
  readonly summary: string;
  /** Changed files that no check against gamed benchmarks can read (other languages); empty for JavaScript and TypeScript. */
  readonly uncheckedPaths: readonly string[];
}

/** Throws StepFailed, or BugError when frozen inputs do not match their hashes. */
export async function checkPolicy(context: EvaluationContext): Promise<PolicyAnswer> {
  const { patch, baseCommit } = context;
  await expectFrozen(context);
  const applied = await apply(context);
  if (applied.tree !== patch.tree) {
    throw new StepFailed({
      code: 'TREE_DIFFERS',
      message: 'The diff does not make the tree that the patch claims.',
      evidence: `On ${baseCommit} the diff makes tree ${applied.tree}, the patch claims ${patch.tree}.`,
    });
  }
  const refusals = patchRefusals(applied.changes, {
    allow: context.settings.allow,
    benchmarkPaths: benchmarkPathsOf(context.benchmark),
    limits: context.options.limits,
  });
  const [first] = refusals;
  if (first !== undefined) {
    const more = refusals.length === 1 ? '' : ` (and ${refusals.length - 1} more)`;
    throw new StepFailed({
      code: 'PATCH_REFUSED',
      message: `The patch is refused: ${first.reason}${more}`,
      evidence: clipped(refusals.map((refusal) => `${refusal.rule}: ${refusal.reason}`).join('\n')),
    });
  }
  await expectBenchmarkOfBase(context);
  await expectNoCheats(context, applied.changes);
  const files = applied.changes.length === 1 ? '1 file' : `${applied.changes.length} files`;
  const lines = applied.changes.reduce((sum, change) => sum + change.additions + change.deletions, 0);
  return {
    summary: `${files}, ${lines} lines, no tests, benchmarks, manifests, lockfiles or CI files.`,
    uncheckedPaths: uncheckedPaths(applied.changes.map(({ path }) => path)),
  };
}

/** The held-back workload stands in no tree, but nothing may look as if it did. */
function benchmarkPathsOf(benchmark: Benchmark): readonly string[] {
  const heldBack = heldBackOf(benchmark);
  return [...frozenFiles(benchmark).keys(), ...(heldBack === null ? [] : [heldBack.path])];
}

async function expectNoCheats(context: EvaluationContext, changes: readonly TreeChange[]): Promise<void> {
  const sources = await Promise.all(changes.map((change) => sourceOf(context, change)));
  const benchmarks = [...frozenFiles(context.benchmark)].map(([path, source]) => ({ path, source }));
  const { signal } = context.station;
  const result = await runCheatChecks(sources, { benchmarks }, DEFAULT_CHEAT_CHECK_LIMITS, signal);
  if (result.kind === 'gave-up') {
    throw new StepFailed({
      code: 'PATCH_CANNOT_BE_CHECKED',
      message: `The patch cannot be checked for gamed benchmarks: ${result.reason}.`,
      evidence: 'Its code nests too deeply or is too large to be parsed. Write it more plainly.',
    });
  }
  const [first] = result.findings;
  if (first === undefined) return;
  const more = result.findings.length === 1 ? '' : ` (and ${result.findings.length - 1} more)`;
  throw new StepFailed({
    code: 'PATCH_GAMES_THE_BENCHMARK',
    message: `${first.path}:${first.line} would game the benchmark: ${first.reason}${more}`,
    evidence: clipped(result.findings.map((finding) => cheatEvidence(finding, sources)).join('\n\n')),
  });
}

async function sourceOf(context: EvaluationContext, change: TreeChange): Promise<SourceChange> {
  const { mirror, repository, baseCommit, patch } = context;
  const { path, status } = change;
  const [before, after] = await Promise.all([
    status === 'added' ? null : mirror.readFile(repository, baseCommit, path),
    status === 'deleted' ? null : mirror.readFile(repository, patch.tree, path),
  ]);
  return { path, before: before?.toString('utf8') ?? null, after: after?.toString('utf8') ?? null };
}

/** Rule, place and the source line, so that a next attempt can mend it. */
function cheatEvidence(finding: CheatFinding, sources: readonly SourceChange[]): string {
  const after = sources.find(({ path }) => path === finding.path)?.after ?? '';
  const line = after.split(/\r\n|[\n\r\u2028\u2029]/)[finding.line - 1]?.trim() ?? '';
  return `${finding.rule} at ${finding.path}:${finding.line}: ${finding.reason}\n> ${clipped(line, 300)}`;
}

async function apply(context: EvaluationContext): Promise<AppliedPatch> {
  const { mirror, repository, baseCommit, patch } = context;
  await mirror.fetch(repository, baseCommit, context.station.signal);
  try {
    return await mirror.applyPatch(repository, baseCommit, patch.diff);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const message = `The patch does not apply: ${error.message}`;
    throw new StepFailed({ code: error.code, message, evidence: clipped(error.message) });
  }
}

async function expectFrozen({ benchmark, patch, baseCommit }: EvaluationContext): Promise<void> {
  const heldBack = heldBackOf(benchmark);
  const wrong = [
    sha256(benchmark.source) === benchmark.sha256 ? null : 'the benchmark is not the one that was frozen',
    heldBack === null || sha256(heldBack.source) === heldBack.sha256
      ? null
      : 'the held-back workload is not the one that was frozen',
    sha256(patch.diff) === patch.digest ? null : 'the diff does not have the digest of its patch',
    patch.baseCommit === baseCommit
      ? null
      : `the patch stands on ${patch.baseCommit}, the run on ${baseCommit}`,
  ].filter((each) => each !== null);
  if (wrong.length === 0) return;
  throw new BugError({ code: 'FROZEN_INPUT_CHANGED', message: `cannot evaluate: ${wrong.join('; ')}` });
}

/** A repository's own benchmark is the file of the base commit, nothing else. */
async function expectBenchmarkOfBase(context: EvaluationContext): Promise<void> {
  const { benchmark, mirror, repository, baseCommit } = context;
  if (benchmark.origin !== 'repository' || benchmark.kind !== 'module') return;
  const file = await mirror.readFile(repository, baseCommit, benchmark.path);
  if (file !== null && file.toString('utf8') === benchmark.source) return;
  throw new StepFailed({
    code: 'BENCHMARK_NOT_OF_BASE',
    message: `The benchmark ${benchmark.path} is not the file of the base commit.`,
    evidence:
      file === null ? 'The base commit has no such file.' : 'The file of the base commit has other content.',
  });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
