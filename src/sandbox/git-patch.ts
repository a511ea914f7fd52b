/** Turns a diff into a tree inside the object store, through a temporary index; no file of it ever stands on the host. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '../domain/errors.js';
import type { AppliedPatch, TreeChange } from '../domain/repository.js';
import { type GitCall, type GitResult, lastLines } from './git-process.js';

/** Runs git in one mirror; everything of `GitCall` besides the directory and the time limit. */
export type MirrorGit = (call: Omit<GitCall, 'gitDir' | 'timeoutMs'>) => Promise<GitResult>;

const EMPTY_SHA = /^0+$/;

/** Applies `diff` to `commit`. Throws UserError `PATCH_DOES_NOT_APPLY` with git's own words. */
export async function applyDiff(
  git: MirrorGit,
  gitDir: string,
  commit: string,
  diff: string,
): Promise<AppliedPatch> {
  const index = join(gitDir, `hasten-index-${randomUUID()}`);
  const env = { GIT_INDEX_FILE: index };
  try {
    await succeed(git({ argv: ['read-tree', commit], env }));
    if (diff.trim() !== '') {
      const applied = await git({
        argv: ['apply', '--cached', '--binary', '--whitespace=nowarn', '-'],
        env,
        stdin: diff.endsWith('\n') ? diff : `${diff}\n`,
      });
      if (applied.code !== 0) throw doesNotApply(lastLines(applied.stderr));
    }
    const written = await git({ argv: ['write-tree'], env });
    if (written.code !== 0) throw doesNotApply(lastLines(written.stderr));
    const tree = written.stdout.toString('utf8').trim();
    const changes = await listChanges(git, commit, tree);
    for (const { path } of changes) {
      if (!isSafePath(path)) throw doesNotApply(`the path ${JSON.stringify(path)} is not allowed`);
    }
    return { tree, changes };
  } finally {
    await rm(index, { force: true });
    await rm(`${index}.lock`, { force: true });
  }
}

/** True for a relative path that stays below the root and outside any `.git`. */
export function isSafePath(path: string): boolean {
  if (path === '' || path.startsWith('/') || path.includes('\0')) return false;
  return path.split('/').every((part) => {
    if (part === '' || part === '.' || part === '..') return false;
    // HFS+ ignores some code points and NTFS knows short names: both would make a `.git` elsewhere.
    const folded = part.toLowerCase().replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, '');
    return !/^(\.git|git~\d+)[ .]*(:.*)?$/.test(folded);
  });
}

async function listChanges(git: MirrorGit, commit: string, tree: string): Promise<TreeChange[]> {
  const shown = await succeed(
    git({
      argv: [
        'diff-tree',
        '-r',
        '--raw',
        '--numstat',
        '-z',
        '--no-renames',
        '--full-index',
        '--no-ext-diff',
        '--no-textconv',
        commit,
        tree,
      ],
    }),
  );
  const { raw, counts } = parseChanges(shown.stdout.toString('utf8'));
  const sizes = await blobSizes(
    git,
    raw.filter((entry) => entry.newMode !== '160000').map((entry) => entry.newSha),
  );
  return raw.map((entry) => {
    const count = counts.get(entry.path);
    return {
      path: entry.path,
      status: entry.status,
      oldMode: entry.oldMode,
      newMode: entry.newMode,
      newSize: sizes.get(entry.newSha) ?? 0,
      additions: count?.additions ?? 0,
      deletions: count?.deletions ?? 0,
      binary: count?.binary ?? false,
    };
  });
}

interface RawChange {
  readonly path: string;
  readonly status: TreeChange['status'];
  readonly oldMode: string | null;
  readonly newMode: string | null;
  readonly newSha: string;
}

interface LineCount {
  readonly additions: number;
  readonly deletions: number;
  readonly binary: boolean;
}

/** Reads the output of `git diff-tree --raw --numstat -z`: first `:old new sha sha X NUL path NUL` each, then `a TAB d TAB path NUL` each. */
export function parseChanges(output: string): {
  raw: readonly RawChange[];
  counts: ReadonlyMap<string, LineCount>;
} {
  const fields = output.split('\0');
  const raw: RawChange[] = [];
  const counts = new Map<string, LineCount>();
  for (let i = 0; i < fields.length; i += 1) {
    const field = fields[i] ?? '';
    if (field.startsWith(':')) {
      const [oldMode = '', newMode = '', , newSha = '', letter = ''] = field.slice(1).split(' ');
      i += 1;
      raw.push({
        path: fields[i] ?? '',
        status: letter === 'A' ? 'added' : letter === 'D' ? 'deleted' : 'modified',
        oldMode: oldMode === '000000' ? null : oldMode,
        newMode: newMode === '000000' ? null : newMode,
        newSha,
      });
      continue;
    }
    const count = /^(\d+|-)\t(\d+|-)\t([\s\S]+)$/.exec(field);
    if (count === null) continue;
    const [, added = '', deleted = '', path = ''] = count;
    const binary = added === '-';
    counts.set(path, {
      additions: binary ? 0 : Number(added),
      deletions: binary ? 0 : Number(deleted),
      binary,
    });
  }
  return { raw, counts };
}

async function blobSizes(git: MirrorGit, shas: readonly string[]): Promise<Map<string, number>> {
  const wanted = shas.filter((sha) => !EMPTY_SHA.test(sha));
  const sizes = new Map<string, number>();
  if (wanted.length === 0) return sizes;
  const checked = await succeed(
    git({ argv: ['cat-file', '--batch-check'], stdin: `${wanted.join('\n')}\n` }),
  );
  for (const line of checked.stdout.toString('utf8').split('\n')) {
    const [sha = '', , size = ''] = line.split(' ');
    if (sha !== '') sizes.set(sha, Number(size));
  }
  return sizes;
}

async function succeed(call: Promise<GitResult>): Promise<GitResult> {
  const result = await call;
  if (result.code !== 0) throw doesNotApply(lastLines(result.stderr));
  return result;
}

function doesNotApply(reason: string): UserError {
  return new UserError({
    code: 'PATCH_DOES_NOT_APPLY',
    message: `the patch does not apply to its base commit: ${reason}`,
  });
}
