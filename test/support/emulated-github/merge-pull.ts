// Merges pull requests with git where a branch has moved: emulate would take the tree of the head it saw first.
import { type Answer, failure } from './answer.js';
import type { Front, FrontRequest } from './front.js';
import { fullNameOf } from './front-routes.js';
import { uploadCommit } from './git-push.js';
import { asObject, type JsonObject, textAt } from './json.js';
import { withCurrentHead } from './routes-pulls.js';

/** `PUT …/merge` with GitHub's refusals: 405 for what cannot be merged, 409 for another head than the one named. */
export async function mergePull(front: Front, request: FrontRequest): Promise<Answer> {
  const fullName = fullNameOf(request);
  const path = `/repos/${fullName}/pulls/${request.params.number ?? ''}`;
  const { status, json: pull } = await front.ask('GET', path);
  if (status !== 200) return front.forward(request);
  const current = await withCurrentHead(front, asObject(pull));
  if (current.merged === true || current.state !== 'open' || current.draft === true) {
    return failure(405, 'Pull Request is not mergeable');
  }
  const head = textAt(current, 'head', 'sha');
  const wanted = textAt(request.body, 'sha');
  if (wanted !== '' && wanted !== head) {
    return failure(409, 'Head branch was modified. Review and try the merge again.');
  }
  const baseRef = textAt(current, 'base', 'ref');
  // Naming the base again makes emulate read where the base branch is now.
  const { json: refreshed } = await front.ask('PATCH', path, { base: baseRef });
  const base = textAt(refreshed, 'base', 'sha');
  const commit = await mergeWithGit(front, fullName, {
    base,
    head,
    squash: isSquash(request),
    pull: current,
  });
  if (commit === undefined) return failure(405, 'Pull Request is not mergeable');
  front.merges.set(textAt(current, 'node_id'), { head, commit });
  const { sha: _checked, ...body } = asObject(request.body);
  const answer = await front.forward(request, { body });
  if (answer.status !== 200 || Buffer.isBuffer(answer.body)) {
    front.merges.delete(textAt(current, 'node_id'));
    return answer.status === 422 ? failure(405, 'Pull Request is not mergeable') : answer;
  }
  await front.ask('PATCH', `/repos/${fullName}/git/refs/heads/${baseRef}`, { sha: commit, force: true });
  return { ...answer, body: { ...asObject(answer.body), sha: commit } };
}

function isSquash(request: FrontRequest): boolean {
  return ['squash', 'rebase'].includes(textAt(request.body, 'merge_method'));
}

interface Merge {
  readonly base: string;
  readonly head: string;
  /** One parent instead of two. */
  readonly squash: boolean;
  readonly pull: JsonObject;
}

/** Makes the merge commit in the bare repository and in emulate; undefined when git finds a conflict. */
async function mergeWithGit(front: Front, fullName: string, merge: Merge): Promise<string | undefined> {
  const { mirror } = front;
  const { base, head, squash, pull } = merge;
  const owner = front.permissions.ownerOf(fullName.split('/')[0] ?? '');
  return mirror.exclusively(fullName, async () => {
    await mirror.pull(fullName);
    let tree: string;
    try {
      const output = await mirror.git(fullName, ['merge-tree', '--write-tree', base, head]);
      tree = output.toString('utf8').trim();
    } catch {
      return undefined;
    }
    const parents = squash ? ['-p', base] : ['-p', base, '-p', head];
    const label = textAt(pull, 'head', 'label').replace(':', '/');
    const message = squash
      ? `${textAt(pull, 'title')} (#${String(pull.number)})`
      : `Merge pull request #${String(pull.number)} from ${label}\n\n${textAt(pull, 'title')}`;
    const identity = ['-c', `user.name=${owner}`, '-c', `user.email=${owner}@example.test`];
    const made = await mirror.git(fullName, [...identity, 'commit-tree', tree, ...parents, '-m', message]);
    const commit = made.toString('utf8').trim();
    await uploadCommit(mirror, front.backend, fullName, front.backend.internalToken(owner), commit);
    return commit;
  });
}
