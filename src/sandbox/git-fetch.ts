/** Brings one commit into a mirror, with the token in git's environment only. */
import { isAbsolute } from 'node:path';
import { PeerError, UserError } from '../domain/errors.js';
import type { RepositoryRef } from '../domain/repository.js';
import type { MirrorGit } from './git-patch.js';
import { lastLines } from './git-process.js';

export interface FetchRequest {
  readonly repository: RepositoryRef;
  readonly commit: string;
  /** Password of the clone, or null for none. */
  readonly token: string | null;
}

/** Git runs this through a shell where the repository is local; it is constant. It keeps that repository's hooks and helpers from running. */
const LOCAL_UPLOAD_PACK =
  'git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c core.fsmonitor=false upload-pack';
/** What servers say when they have the commit not, or do not give it away by its id. */
const REFUSED_ID =
  /not our ref|unadvertised object|couldn't find remote ref|no such remote ref|not a valid object/i;
const NOT_ALLOWED =
  /authentication failed|could not read (username|password)|returned error: 40[134]|not found/i;

/** Fetches only what is missing: the commit alone, or the default branch where the server refuses single commits. */
export async function fetchCommit(git: MirrorGit, request: FetchRequest): Promise<void> {
  const { repository, commit, token } = request;
  if (await hasCommit(git, commit)) return;
  const url = checkedUrl(repository.cloneUrl);
  const base = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules'];
  const remote = isAbsolute(url) ? [`--upload-pack=${LOCAL_UPLOAD_PACK}`, '--', url] : ['--', url];
  const env = fetchEnvironment(url, token);
  const keep = `refs/hasten/commits/${commit}`;

  const single = await git({ argv: [...base, '--depth=1', ...remote, `+${commit}:${keep}`], env });
  if (single.code === 0 && (await hasCommit(git, commit))) return;
  if (single.code !== 0 && !REFUSED_ID.test(single.stderr)) throw fetchFailed(repository, single.stderr);

  const branch = `refs/heads/${checkedBranch(repository.defaultBranch)}`;
  const whole = await git({ argv: [...base, ...remote, `+${branch}:refs/hasten/default`], env });
  if (whole.code !== 0 && !REFUSED_ID.test(whole.stderr)) throw fetchFailed(repository, whole.stderr);
  if (!(await hasCommit(git, commit))) {
    throw new UserError({
      code: 'COMMIT_NOT_FOUND',
      message: `commit ${commit} is neither served by ${repository.owner}/${repository.name} nor on its branch ${repository.defaultBranch}; it may have been force-pushed away`,
    });
  }
  await git({ argv: ['update-ref', keep, commit] });
}

/** Whether the commit and its tree are there. */
async function hasCommit(git: MirrorGit, commit: string): Promise<boolean> {
  const found = await git({ argv: ['cat-file', '-e', `${commit}^{tree}`] });
  return found.code === 0;
}

/** Configuration through variables, so that the token stands neither in argv nor on disk; bound to the origin it was made for. */
export function fetchEnvironment(url: string, token: string | null): Record<string, string> {
  if (isAbsolute(url)) return { GIT_ALLOW_PROTOCOL: 'file' };
  if (token === null) return {};
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${new URL(url).origin}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
}

/** Accepts an absolute path or an http(s) address without credentials. */
export function checkedUrl(cloneUrl: string): string {
  if (isAbsolute(cloneUrl) && !cloneUrl.includes('\n')) return cloneUrl;
  const url = URL.canParse(cloneUrl) ? new URL(cloneUrl) : null;
  if (
    url === null ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.username !== '' ||
    url.password !== ''
  ) {
    throw new UserError({
      code: 'CLONE_URL_NOT_ALLOWED',
      message: 'a repository is cloned from an http(s) address without credentials or from an absolute path',
    });
  }
  return url.href;
}

function checkedBranch(branch: string): string {
  if (
    /^(?![-/.])(?!.*(?:\.\.|\/\/|@\{|\/\.|\.lock(?:\/|$)))[^\s~^:?*[\\\p{Cc}]{1,200}(?<![/.])$/u.test(branch)
  )
    return branch;
  throw new UserError({
    code: 'BRANCH_NAME_NOT_ALLOWED',
    message: `${JSON.stringify(branch)} is not a branch name that git accepts`,
  });
}

function fetchFailed(repository: RepositoryRef, stderr: string): PeerError {
  return new PeerError({
    code: 'GIT_FETCH_FAILED',
    message: `fetching ${repository.owner}/${repository.name} failed: ${lastLines(stderr)}`,
    retryable: !NOT_ALLOWED.test(stderr),
  });
}
