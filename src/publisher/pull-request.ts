/** The pull request of a run: found by its branch in any state before it is made, at a bounded pace. */
import { PeerError, UserError } from '../domain/errors.js';
import { callGithub, statusOf } from './github-errors.js';
import { isOurs, type RepositoryAccess } from './repository-access.js';

const WORDS = { permission: 'pull_requests: write' } as const;
const HOUR_MS = 60 * 60 * 1000;
/** How long to wait for people to close or merge when too many are open. */
const OPEN_LIMIT_WAIT_MS = 30 * 60 * 1000;

/** How many pull requests one repository gets. */
export interface PullRequestPace {
  readonly pullsPerHour: number;
  readonly pullsOpen: number;
}

export interface PullRequestSpec {
  /** `hasten/<run>`. */
  readonly branch: string;
  /** Branch that it is to be merged into. */
  readonly base: string;
  readonly title: string;
  readonly body: string;
  readonly draft: boolean;
}

export interface PullRequestFound {
  readonly number: number;
  readonly url: string;
  readonly draft: boolean;
}

/**
 * The pull request of a branch in any state, or null.
 * Throws UserError `PULL_REQUEST_CLOSED` when a person closed it without merging: it is not offered again.
 */
export async function findPullRequest(
  access: RepositoryAccess,
  branch: string,
): Promise<PullRequestFound | null> {
  const { data } = await callGithub({ what: 'look for the pull request', ...WORDS }, () =>
    access.octokit.rest.pulls.list({
      ...access.at,
      state: 'all',
      head: `${access.at.owner}:${branch}`,
      per_page: 100,
    }),
  );
  const found = data
    .filter((pull) => pull.head.ref === branch && isOurs(access.app, pull))
    .sort((left, right) => left.number - right.number)[0];
  if (found === undefined) return null;
  if (found.state === 'closed' && (found.merged_at === null || found.merged_at === undefined)) {
    throw new UserError({
      code: 'PULL_REQUEST_CLOSED',
      message: `Somebody closed pull request ${found.number} of this run; Hasten does not offer it again.`,
    });
  }
  return { number: found.number, url: found.html_url, draft: found.draft ?? false };
}

/** Opens the pull request, or finds the one that another try opened meanwhile. */
export async function openPullRequest(
  access: RepositoryAccess,
  spec: PullRequestSpec,
): Promise<PullRequestFound> {
  return callGithub({ what: 'open the pull request', ...WORDS }, async () => {
    try {
      const { data } = await access.octokit.rest.pulls.create({
        ...access.at,
        head: spec.branch,
        base: spec.base,
        title: spec.title,
        body: spec.body,
        draft: spec.draft,
        maintainer_can_modify: true,
      });
      return { number: data.number, url: data.html_url, draft: data.draft ?? spec.draft };
    } catch (error) {
      if (statusOf(error) !== 422) throw error;
      const found = await findPullRequest(access, spec.branch);
      if (found !== null) return found;
      throw refused(spec, error);
    }
  });
}

function refused(spec: PullRequestSpec, cause: unknown): UserError {
  const said = cause instanceof Error ? cause.message.slice(0, 300) : '';
  return new UserError({
    code: 'PULL_REQUEST_REFUSED',
    message: `GitHub does not take the ${spec.draft ? 'draft ' : ''}pull request from ${spec.branch} into ${spec.base} (${said}). The branch stands; a repository without drafts (by its plan) needs a benchmark of its own and approval "none" or "auto".`,
    cause,
  });
}

/**
 * Throws PeerError `PACE_REACHED` (retryable, with the time to wait) when the repository has had its share of our
 * pull requests: GitHub's own list is counted. `nowMs` in epoch milliseconds.
 */
export async function keepPace(
  access: RepositoryAccess,
  pace: PullRequestPace,
  nowMs: number,
): Promise<void> {
  const pulls = await callGithub({ what: 'count our pull requests', ...WORDS }, async () => {
    const open = await access.octokit.paginate(access.octokit.rest.pulls.list, {
      ...access.at,
      state: 'open',
      per_page: 100,
    });
    const recent = await access.octokit.rest.pulls.list({
      ...access.at,
      state: 'all',
      sort: 'created',
      direction: 'desc',
      per_page: 100,
    });
    return { open, recent: recent.data };
  });
  const ours = pulls.recent
    .filter((pull) => isOurs(access.app, pull) && pull.head.ref.startsWith('hasten/'))
    .map((pull) => Date.parse(pull.created_at))
    .filter((createdAt) => createdAt > nowMs - HOUR_MS)
    .sort((left, right) => left - right);
  if (ours.length >= pace.pullsPerHour) {
    const free = (ours[ours.length - pace.pullsPerHour] ?? nowMs) + HOUR_MS - nowMs;
    throw paceReached(`${ours.length} pull requests were opened within the hour`, pace.pullsPerHour, free);
  }
  const open = pulls.open.filter(
    (pull) => isOurs(access.app, pull) && pull.head.ref.startsWith('hasten/'),
  ).length;
  if (open >= pace.pullsOpen) {
    throw paceReached(`${open} pull requests are open`, pace.pullsOpen, OPEN_LIMIT_WAIT_MS);
  }
}

function paceReached(what: string, limit: number, waitMs: number): PeerError {
  return new PeerError({
    code: 'PACE_REACHED',
    message: `Hasten keeps a pace for this repository: ${what}, allowed are ${limit}. It goes on later by itself; merging or closing open ones helps.`,
    retryAfterMs: Math.max(1000, waitMs),
  });
}
