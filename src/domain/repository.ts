/** What every floor calls a repository, and the port to its commits on the host (a bare mirror; never a work tree). */
import type { Readable } from 'node:stream';

export interface RepositoryRef {
  /** GitHub's numeric id as text, or `local-<hash>` for local use. Unique key of the machine. */
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  /** Null for local use. */
  readonly installationId: number | null;
  readonly defaultBranch: string;
  /** HTTP(S) address that git clones from, or an absolute local path. Never holds credentials. */
  readonly cloneUrl: string;
}

export interface TreeEntry {
  /** Path from the root, `/` separated. */
  readonly path: string;
  /** Git mode: 100644, 100755, 120000 (symlink) or 160000 (submodule). */
  readonly mode: string;
  readonly sha: string;
  /** Bytes; 0 for submodules. */
  readonly size: number;
}

/** One path that differs between a base commit and a patched tree, as git sees it (renames as delete and add). */
export interface TreeChange {
  readonly path: string;
  readonly status: 'added' | 'modified' | 'deleted';
  /** Null where the path does not exist on that side. */
  readonly oldMode: string | null;
  readonly newMode: string | null;
  /** Bytes of the new content; 0 when deleted. */
  readonly newSize: number;
  readonly additions: number;
  readonly deletions: number;
  readonly binary: boolean;
}

export interface AppliedPatch {
  /** SHA of the resulting tree. */
  readonly tree: string;
  readonly changes: readonly TreeChange[];
}

/** A bare clone per repository on the host, fetched incrementally; hostile content is never checked out there. */
export interface SourceMirror {
  /** Makes `commit` (40 hex) available. Throws PeerError `GIT_FETCH_FAILED`, UserError `COMMIT_NOT_FOUND`. */
  fetch(repository: RepositoryRef, commit: string, signal: AbortSignal): Promise<void>;
  /** Content of a regular file at a commit or tree, or null; symlinks and submodules are null. */
  readFile(repository: RepositoryRef, treeish: string, path: string): Promise<Buffer | null>;
  /** Every entry of a commit or tree, recursively, sorted by path. */
  listFiles(repository: RepositoryRef, treeish: string): Promise<readonly TreeEntry[]>;
  /** Applies `git diff --binary` text to a commit inside the object store only. Throws UserError `PATCH_DOES_NOT_APPLY`. */
  applyPatch(repository: RepositoryRef, commit: string, diff: string): Promise<AppliedPatch>;
  /** A tar stream of a commit's or tree's files. */
  archive(repository: RepositoryRef, treeish: string): Readable;
  /** Writes a commit object on `parent` with `tree` and points `refs/heads/<branch>` at it (local use). Idempotent for equal input. */
  writeBranch(repository: RepositoryRef, spec: BranchSpec): Promise<string>;
}

export interface BranchSpec {
  readonly branch: string;
  readonly parent: string;
  readonly tree: string;
  readonly message: string;
  /** Epoch milliseconds, so that the same input gives the same commit. */
  readonly at: number;
}
