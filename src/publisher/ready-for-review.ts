/** Takes a pull request out of draft; GitHub offers that by GraphQL only. */
import { callGithub } from './github-errors.js';
import { isOurs, type RepositoryAccess } from './repository-access.js';

const WORDS = { permission: 'pull_requests: write' } as const;
const MARK_READY = `mutation ($pullRequestId: ID!) {
  markPullRequestReadyForReview(input: { pullRequestId: $pullRequestId }) {
    pullRequest { isDraft }
  }
}`;

/**
 * Makes a draft of ours ready for review; one that is ready already stays so. Gives false for a pull request that is
 * closed or not ours: nothing is done then.
 */
export async function markReady(access: RepositoryAccess, pullNumber: number): Promise<boolean> {
  const { data } = await callGithub({ what: 'read the pull request', ...WORDS }, () =>
    access.octokit.rest.pulls.get({ ...access.at, pull_number: pullNumber }),
  );
  const ours = isOurs(access.app, data) && data.head.ref.startsWith('hasten/');
  if (!ours || data.state !== 'open') return false;
  if (data.draft !== true) return true;
  await callGithub({ what: 'make the pull request ready for review', ...WORDS }, () =>
    access.octokit.graphql(MARK_READY, { pullRequestId: data.node_id, request: access.at.request }),
  );
  return true;
}
