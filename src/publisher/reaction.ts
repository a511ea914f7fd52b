/** Reactions: GitHub itself keeps one per account and content, so setting one again changes nothing. */
import { callGithub, statusOf } from './github-errors.js';
import type { RepositoryAccess } from './repository-access.js';

const WORDS = { what: 'react', permission: 'issues: write' } as const;

/** Puts the eyes on an issue: it was seen. A deleted issue is no failure. */
export async function reactToIssue(access: RepositoryAccess, issueNumber: number): Promise<void> {
  await callGithub(WORDS, () =>
    access.octokit.rest.reactions
      .createForIssue({ ...access.at, issue_number: issueNumber, content: 'eyes' })
      .catch(ignoreGone),
  );
}

/** Puts a reaction on a comment. A comment that was deleted meanwhile is no failure. */
export async function reactToComment(
  access: RepositoryAccess,
  commentId: number,
  content: '+1' | '-1' | 'confused' | 'eyes',
): Promise<void> {
  await callGithub(WORDS, () =>
    access.octokit.rest.reactions
      .createForIssueComment({ ...access.at, comment_id: commentId, content })
      .catch(ignoreGone),
  );
}

function ignoreGone(error: unknown): void {
  if (statusOf(error) !== 404) throw error;
}
