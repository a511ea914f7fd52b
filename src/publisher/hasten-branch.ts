/** The commit and branch of a run at GitHub, by the Git Data API without author and committer, so that GitHub signs it. */
import { BugError, UserError } from '../domain/errors.js';
import type { RepositoryRef, SourceMirror, TreeChange } from '../domain/repository.js';
import { callGithub, statusOf } from './github-errors.js';
import { hasRunTrailer } from './pull-request-text.js';
import type { RepositoryAccess } from './repository-access.js';

const WORDS = { permission: 'contents: write' } as const;
const BLOBS_AT_ONCE = 4;

/** The branch of a run: the only refs that this program ever writes. Throws BugError for a run id that is no plain word. */
export function branchOf(run: string): string {
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(run)) {
    throw new BugError({
      code: 'BRANCH_OUTSIDE_HASTEN',
      message: `Refused to write a ref for the run id ${JSON.stringify(run.slice(0, 80))}: expected lower-case letters, digits and "-", so that the branch stays inside hasten/.`,
    });
  }
  return `hasten/${run}`;
}

export interface BranchContent {
  readonly run: string;
  readonly repository: RepositoryRef;
  readonly baseCommit: string;
  readonly tree: string;
  /** `git diff --binary` text that makes `tree` out of the base commit. */
  readonly diff: string;
  /** Ends with the run's trailer. */
  readonly message: string;
}

/**
 * Finds or makes the run's branch and gives its commit. The branch ref decides: a commit that no ref names is made again.
 * Throws UserError `BRANCH_CHANGED` when the branch holds anything but the run's commit (a person pushed to it).
 */
export async function ensureBranch(
  access: RepositoryAccess,
  mirror: SourceMirror,
  content: BranchContent,
  signal: AbortSignal,
): Promise<string> {
  const branch = branchOf(content.run);
  const standing = await readBranch(access, branch);
  if (standing !== null) return confirmCommit(access, standing, content);
  const commit = await createCommit(access, mirror, content, signal);
  const refused = await createRef(access, branch, commit);
  if (refused === null) return commit;
  const winner = await readBranch(access, branch);
  if (winner !== null) return confirmCommit(access, winner, content);
  throw new UserError({
    code: 'BRANCH_REFUSED',
    message: `GitHub does not let the App create ${branch} (${refused}). Expected that rules of the repository allow branches named hasten/…; exempt them or the App.`,
  });
}

/**
 * The run's commit among those of its pull request, where a person may have pushed to the branch or merged and removed
 * it meanwhile. Throws UserError `BRANCH_CHANGED` when it is not among the first 250, which GitHub lists at most.
 */
export async function findPullCommit(
  access: RepositoryAccess,
  pullNumber: number,
  run: string,
  tree: string,
): Promise<string> {
  const commits = await callGithub(
    { what: 'list the commits of the pull request', permission: 'pull_requests: write' },
    () =>
      access.octokit.paginate(access.octokit.rest.pulls.listCommits, {
        ...access.at,
        pull_number: pullNumber,
        per_page: 100,
      }),
  );
  const ours = commits.find(({ commit }) => commit.tree.sha === tree && hasRunTrailer(commit.message, run));
  if (ours !== undefined) return ours.sha;
  throw branchChanged(run, `Pull request ${pullNumber} no longer holds the commit that this run made`);
}

/** The commit that a branch points at, or null when there is no such branch. */
async function readBranch(access: RepositoryAccess, branch: string): Promise<string | null> {
  return callGithub({ what: `read the branch ${branch}`, ...WORDS }, async () => {
    try {
      const answer = await access.octokit.rest.git.getRef({ ...access.at, ref: `heads/${branch}` });
      return answer.data.object.sha;
    } catch (error) {
      if (statusOf(error) === 404) return null;
      throw error;
    }
  });
}

async function confirmCommit(access: RepositoryAccess, sha: string, content: BranchContent): Promise<string> {
  const { data } = await callGithub({ what: 'read a commit', ...WORDS }, () =>
    access.octokit.rest.git.getCommit({ ...access.at, commit_sha: sha }),
  );
  const parents = data.parents.map((parent) => parent.sha);
  const ours =
    data.tree.sha === content.tree &&
    parents.length === 1 &&
    parents[0] === content.baseCommit &&
    hasRunTrailer(data.message, content.run);
  if (ours) return sha;
  throw branchChanged(content.run, `It holds commit ${sha}, which is not the one that this run made`);
}

function branchChanged(run: string, what: string): UserError {
  return new UserError({
    code: 'BRANCH_CHANGED',
    message: `Somebody changed the branch ${branchOf(run)}. ${what}. Hasten leaves such branches alone.`,
  });
}

async function createCommit(
  access: RepositoryAccess,
  mirror: SourceMirror,
  content: BranchContent,
  signal: AbortSignal,
): Promise<string> {
  const { repository, baseCommit, tree, diff, message } = content;
  await mirror.fetch(repository, baseCommit, signal);
  const applied = await mirror.applyPatch(repository, baseCommit, diff);
  if (applied.tree !== tree || applied.changes.length === 0) {
    throw new BugError({
      code: 'TREE_MISMATCH',
      message: `The patch gives tree ${applied.tree} with ${applied.changes.length} changes on ${baseCommit}; the evaluation passed tree ${tree}.`,
    });
  }
  const entries = await uploadChanges(access, mirror, content, applied.changes, signal);
  const base = await callGithub({ what: 'read the base commit', ...WORDS }, () =>
    access.octokit.rest.git.getCommit({ ...access.at, commit_sha: baseCommit }),
  );
  const made = await callGithub({ what: 'write a tree', ...WORDS }, () =>
    access.octokit.rest.git.createTree({ ...access.at, base_tree: base.data.tree.sha, tree: [...entries] }),
  );
  if (made.data.sha !== tree) {
    throw new BugError({
      code: 'TREE_MISMATCH',
      message: `GitHub made tree ${made.data.sha} out of the changed files; the evaluation passed tree ${tree}.`,
    });
  }
  const commit = await callGithub({ what: 'write a commit', ...WORDS }, () =>
    access.octokit.rest.git.createCommit({ ...access.at, message, tree, parents: [baseCommit] }),
  );
  return commit.data.sha;
}

interface NewTreeEntry {
  path: string;
  mode: '100644' | '100755';
  type: 'blob';
  sha: string | null;
}

async function uploadChanges(
  access: RepositoryAccess,
  mirror: SourceMirror,
  content: BranchContent,
  changes: readonly TreeChange[],
  signal: AbortSignal,
): Promise<readonly NewTreeEntry[]> {
  const entries: NewTreeEntry[] = [];
  for (let start = 0; start < changes.length; start += BLOBS_AT_ONCE) {
    signal.throwIfAborted();
    const some = changes.slice(start, start + BLOBS_AT_ONCE);
    entries.push(...(await Promise.all(some.map((change) => uploadChange(access, mirror, content, change)))));
  }
  return entries;
}

async function uploadChange(
  access: RepositoryAccess,
  mirror: SourceMirror,
  content: BranchContent,
  change: TreeChange,
): Promise<NewTreeEntry> {
  const { path } = change;
  if (change.status === 'deleted') return { path, mode: '100644', type: 'blob', sha: null };
  const mode = change.newMode;
  const file =
    mode === '100644' || mode === '100755'
      ? await mirror.readFile(content.repository, content.tree, path)
      : null;
  if (file === null || (mode !== '100644' && mode !== '100755')) {
    throw new BugError({
      code: 'NOT_A_FILE',
      message: `The passed patch holds ${JSON.stringify(path)} with mode ${mode}; the patch policy lets regular files through only.`,
    });
  }
  const blob = await callGithub({ what: 'write a file', ...WORDS }, () =>
    access.octokit.rest.git.createBlob({
      ...access.at,
      content: file.toString('base64'),
      encoding: 'base64',
    }),
  );
  return { path, mode, type: 'blob', sha: blob.data.sha };
}

/** Null when the ref was created; GitHub's words when it refused, because it exists already (compare-and-set) or by a rule. */
async function createRef(access: RepositoryAccess, branch: string, sha: string): Promise<string | null> {
  return callGithub({ what: `create the branch ${branch}`, ...WORDS }, async () => {
    try {
      await access.octokit.rest.git.createRef({ ...access.at, ref: `refs/heads/${branch}`, sha });
      return null;
    } catch (error) {
      if (statusOf(error) !== 422 || !(error instanceof Error)) throw error;
      return error.message.slice(0, 300);
    }
  });
}
