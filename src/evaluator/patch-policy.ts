/** First step of an evaluation: may this patch be looked at at all? Judges paths, modes and sizes, never content. */
import type { TreeChange } from '../domain/repository.js';
import { matchesGlob } from './path-glob.js';
import { malformedPath, PATH_CLASSES } from './path-rules.js';

export interface PatchLimits {
  /** Changed files. */
  readonly maxFiles: number;
  /** Added plus deleted lines over all files. */
  readonly maxLines: number;
  /** Bytes of one file after the patch. */
  readonly maxFileBytes: number;
}

export const DEFAULT_PATCH_LIMITS: PatchLimits = { maxFiles: 40, maxLines: 3000, maxFileBytes: 1024 * 1024 };

export interface PatchPolicy {
  /** Globs of the settings that open what the default closes; never tests, benchmarks, CI, manifests or lockfiles. */
  readonly allow: readonly string[];
  /** Paths of the benchmark that decides. */
  readonly benchmarkPaths: readonly string[];
  readonly limits: PatchLimits;
}

export interface PolicyRefusal {
  /** Null where the patch as a whole is refused. */
  readonly path: string | null;
  /** Stable word for tests and logs. */
  readonly rule: string;
  /** One sentence with the path, safe to print. */
  readonly reason: string;
}

const REGULAR_MODES = new Set(['100644', '100755']);

/** Every reason why a patch is refused, in the order of its changes; empty when it may go on. */
export function patchRefusals(changes: readonly TreeChange[], policy: PatchPolicy): readonly PolicyRefusal[] {
  if (changes.length === 0) return [{ path: null, rule: 'empty', reason: 'The patch changes nothing.' }];
  return [
    ...changes.flatMap((change) => changeRefusals(change, policy)),
    ...sizeRefusals(changes, policy.limits),
  ];
}

function changeRefusals(change: TreeChange, policy: PatchPolicy): readonly PolicyRefusal[] {
  const refuse = (rule: string, because: string): PolicyRefusal => ({
    path: change.path,
    rule,
    reason: `${shown(change.path)} ${because}.`,
  });
  const malformed = malformedPath(change.path);
  if (malformed !== null) return [refuse('path', malformed)];
  const refusals: PolicyRefusal[] = [];
  const modes = [change.oldMode, change.newMode].filter((mode) => mode !== null);
  if (modes.some((mode) => !REGULAR_MODES.has(mode))) {
    refusals.push(refuse('mode', 'is a symlink, a submodule or no regular file'));
  } else if (new Set(modes).size > 1) {
    refusals.push(refuse('mode', 'changes its mode'));
  }
  if (change.binary) refusals.push(refuse('binary', 'is changed as binary'));
  if (change.newSize > policy.limits.maxFileBytes) {
    refusals.push(refuse('size', `has ${change.newSize} bytes, more than ${policy.limits.maxFileBytes}`));
  }
  const closed = closedBy(change.path, policy);
  if (closed !== null) refusals.push(refuse(closed.name, closed.because));
  return refusals;
}

function closedBy(
  path: string,
  policy: PatchPolicy,
): { readonly name: string; readonly because: string } | null {
  const comparable = folded(path);
  if (policy.benchmarkPaths.some((each) => folded(each) === comparable)) {
    return { name: 'benchmark', because: 'is the benchmark that decides' };
  }
  const segments = comparable.split('/');
  const file = segments[segments.length - 1] ?? '';
  const allowed = policy.allow.some((glob) => matchesGlob(path, glob));
  return PATH_CLASSES.find((each) => !(each.overridable && allowed) && each.matches(segments, file)) ?? null;
}

function sizeRefusals(changes: readonly TreeChange[], limits: PatchLimits): readonly PolicyRefusal[] {
  const lines = changes.reduce((sum, change) => sum + change.additions + change.deletions, 0);
  const refusals: PolicyRefusal[] = [];
  if (changes.length > limits.maxFiles) {
    const reason = `The patch changes ${changes.length} files, more than ${limits.maxFiles}.`;
    refusals.push({ path: null, rule: 'too-many-files', reason });
  }
  if (lines > limits.maxLines) {
    const reason = `The patch changes ${lines} lines, more than ${limits.maxLines}.`;
    refusals.push({ path: null, rule: 'too-many-lines', reason });
  }
  return refusals;
}

/** One spelling for what case-folding and normalising file systems take for the same name. */
function folded(path: string): string {
  return path.normalize('NFKC').toLowerCase();
}

function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
