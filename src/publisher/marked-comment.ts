/** Comments found again by their hidden marker and author before another one is made; duplicates are removed. */
import { callGithub, statusOf } from './github-errors.js';
import { carriesMarker } from './marker.js';
import { isOurs, type RepositoryAccess, sinceOf } from './repository-access.js';

const WORDS = { permission: 'issues: write' } as const;

export interface MarkedComment {
  readonly issueNumber: number;
  /** Ends with the marker. */
  readonly body: string;
  readonly marker: string;
  /** Epoch milliseconds before which it cannot have been made. */
  readonly notBefore: number;
}

/** Makes sure that exactly one such comment of ours stands, without touching its text. Returns its id. */
export async function ensureComment(access: RepositoryAccess, comment: MarkedComment): Promise<number> {
  const [found] = await findComments(access, comment);
  if (found !== undefined) return found.id;
  return createComment(access, comment);
}

/** The same, and brings the text of the comment up to date. */
export async function upsertComment(access: RepositoryAccess, comment: MarkedComment): Promise<number> {
  const [found, ...doubles] = await findComments(access, comment);
  if (found === undefined) return createComment(access, comment);
  await removeComments(access, doubles);
  if (found.body !== comment.body) {
    await callGithub({ what: 'edit a comment', ...WORDS }, () =>
      access.octokit.rest.issues.updateComment({ ...access.at, comment_id: found.id, body: comment.body }),
    );
  }
  return found.id;
}

/** GitHub has no uniqueness for comments: after the POST the list decides, the lowest id stays. */
async function createComment(access: RepositoryAccess, comment: MarkedComment): Promise<number> {
  const created = await callGithub({ what: 'write a comment', ...WORDS }, () =>
    access.octokit.rest.issues.createComment({
      ...access.at,
      issue_number: comment.issueNumber,
      body: comment.body,
    }),
  );
  const [kept, ...doubles] = await findComments(access, comment);
  await removeComments(access, doubles);
  return kept?.id ?? created.data.id;
}

interface FoundComment {
  readonly id: number;
  readonly body: string;
}

async function findComments(
  access: RepositoryAccess,
  comment: MarkedComment,
): Promise<readonly FoundComment[]> {
  const all = await callGithub({ what: 'list comments', ...WORDS }, () =>
    access.octokit.paginate(access.octokit.rest.issues.listComments, {
      ...access.at,
      issue_number: comment.issueNumber,
      since: sinceOf(comment.notBefore),
      per_page: 100,
    }),
  );
  return all
    .filter((item) => carriesMarker(item.body, comment.marker) && isOurs(access.app, item))
    .map((item) => ({ id: item.id, body: item.body ?? '' }))
    .sort((left, right) => left.id - right.id);
}

async function removeComments(access: RepositoryAccess, doubles: readonly FoundComment[]): Promise<void> {
  for (const { id } of doubles) {
    await callGithub({ what: 'remove a double comment', ...WORDS }, () =>
      access.octokit.rest.issues.deleteComment({ ...access.at, comment_id: id }).catch((error: unknown) => {
        if (statusOf(error) !== 404) throw error;
      }),
    );
  }
}
