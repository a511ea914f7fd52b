/** Leaves a result in a local repository as a branch below `hasten/`; nothing else of it is touched. */
import { isAbsolute } from 'node:path';
import { BugError, PeerError, UserError } from '../domain/errors.js';
import type { BranchSpec, RepositoryRef } from '../domain/repository.js';
import type { MirrorGit } from './git-patch.js';
import { lastLines } from './git-process.js';

const BRANCH = /^hasten\/[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;
/** Constant text, run by a shell through git; the repository's own hooks and push rules stay out. */
const RECEIVE_PACK =
  'git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c core.fsmonitor=false ' +
  '-c receive.denyCurrentBranch=refuse -c receive.fsckObjects=true receive-pack';

/** Writes the commit and pushes it. Returns its id; equal input gives the same one. Throws UserError `BRANCH_EXISTS`, `BRANCH_CHECKED_OUT`. */
export async function writeLocalBranch(
  git: MirrorGit,
  repository: RepositoryRef,
  spec: BranchSpec,
): Promise<string> {
  if (!BRANCH.test(spec.branch)) {
    throw new BugError({
      code: 'BRANCH_OUTSIDE_HASTEN',
      message: `branches are written below hasten/ only, asked for ${JSON.stringify(spec.branch)}`,
    });
  }
  if (!isAbsolute(repository.cloneUrl)) {
    throw new BugError({
      code: 'BRANCH_NEEDS_LOCAL_REPOSITORY',
      message: 'branches of remote repositories are written by the publisher, through the API',
    });
  }
  const commit = await writeCommit(git, spec);
  await refuseCheckedOut(git, repository.cloneUrl, spec.branch);
  const pushed = await git({
    argv: [
      'push',
      '--quiet',
      '--no-verify',
      `--receive-pack=${RECEIVE_PACK}`,
      '--',
      repository.cloneUrl,
      `${commit}:refs/heads/${spec.branch}`,
    ],
    env: { GIT_ALLOW_PROTOCOL: 'file' },
  });
  if (pushed.code === 0) return commit;
  if (/rejected|non-fast-forward|fetch first|refusing/i.test(pushed.stderr)) {
    throw new UserError({
      code: 'BRANCH_EXISTS',
      message: `the branch ${spec.branch} exists with other content; delete or rename it (${lastLines(pushed.stderr)})`,
    });
  }
  throw new PeerError({
    code: 'GIT_PUSH_FAILED',
    message: `writing ${spec.branch} failed: ${lastLines(pushed.stderr)}`,
    retryable: false,
  });
}

async function writeCommit(git: MirrorGit, spec: BranchSpec): Promise<string> {
  const date = `@${Math.floor(spec.at / 1000)} +0000`;
  const written = await git({
    argv: ['commit-tree', spec.tree, '-p', spec.parent, '-F', '-'],
    stdin: spec.message.endsWith('\n') ? spec.message : `${spec.message}\n`,
    env: {
      GIT_AUTHOR_NAME: 'Hasten',
      GIT_AUTHOR_EMAIL: 'hasten@localhost',
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: 'Hasten',
      GIT_COMMITTER_EMAIL: 'hasten@localhost',
      GIT_COMMITTER_DATE: date,
    },
  });
  if (written.code !== 0) {
    throw new BugError({
      code: 'COMMIT_NOT_WRITTEN',
      message: `git commit-tree: ${lastLines(written.stderr)}`,
    });
  }
  return written.stdout.toString('utf8').trim();
}

/** A branch that stands in somebody's work tree is theirs. */
async function refuseCheckedOut(git: MirrorGit, path: string, branch: string): Promise<void> {
  const listed = await git({
    argv: ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', 'worktree', 'list', '--porcelain'],
    elsewhere: path,
  });
  if (listed.stdout.toString('utf8').split('\n').includes(`branch refs/heads/${branch}`)) {
    throw new UserError({
      code: 'BRANCH_CHECKED_OUT',
      message: `the branch ${branch} is checked out; switch to another branch first`,
    });
  }
}
