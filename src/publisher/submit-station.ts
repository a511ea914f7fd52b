/** Submitting at GitHub: commit, branch, pull request and check run, each found before it is made. */
import type { Effect, Station, StationContext } from '../domain/effect.js';
import type { Money } from '../domain/money.js';
import type { SourceMirror } from '../domain/repository.js';
import { ensureCheckRun } from './check-run.js';
import type { GithubClients, TokenPermissions } from './github-clients.js';
import { branchOf, ensureBranch, findPullCommit } from './hasten-branch.js';
import { requirePassed } from './passed-run.js';
import {
  findPullRequest,
  keepPace,
  openPullRequest,
  type PullRequestFound,
  type PullRequestPace,
} from './pull-request.js';
import {
  checkRunOutput,
  commitMessage,
  draftReasons,
  type PassedRun,
  pullRequestBody,
  pullRequestTitle,
} from './pull-request-text.js';
import { openRepository, type RepositoryAccess } from './repository-access.js';

const SUBMIT: TokenPermissions = {
  contents: 'write',
  pull_requests: 'write',
  checks: 'write',
  metadata: 'read',
};

export interface SubmitDeps {
  readonly clients: GithubClients;
  readonly mirror: SourceMirror;
  /** Only read: what a run has spent. */
  readonly money: Pick<Money, 'spentByRun'>;
  /** Pull requests that one repository gets. */
  readonly pace: PullRequestPace;
}

/**
 * Creates the station that offers a passed patch. Throws BugError `EVALUATION_MISMATCH` or `TREE_MISMATCH`, UserError
 * `BRANCH_CHANGED`, `BRANCH_REFUSED`, `PULL_REQUEST_CLOSED` or `PULL_REQUEST_REFUSED`, PeerError `PACE_REACHED`.
 */
export function createSubmitStation(deps: SubmitDeps): Station<'submit'> {
  return async (effect, context) => {
    const { run } = effect.payload;
    const passed = requirePassed(run, await deps.money.spentByRun(run.id));
    const branch = branchOf(run.id);
    const access = await openRepository(deps.clients, effect.repository, SUBMIT, context.signal);
    const standing = await findPullRequest(access, branch);
    const offered =
      standing === null
        ? await offer(deps, { access, passed, effect, context })
        : {
            pull: standing,
            commit: await findPullCommit(access, standing.number, run.id, passed.patch.tree),
          };
    const { pull, commit } = offered;
    await ensureCheckRun(access, {
      commit,
      key: effect.key,
      output: checkRunOutput(passed),
      completedAt: context.now(),
    });
    context.progress(`pull request #${pull.number}${pull.draft ? ' (draft)' : ''}`);
    return {
      type: 'PULL_REQUEST_OPENED',
      submission: { branch, commit, pullNumber: pull.number, url: pull.url, draft: pull.draft },
    };
  };
}

interface Offer {
  readonly access: RepositoryAccess;
  readonly passed: PassedRun;
  readonly effect: Effect<'submit'>;
  readonly context: StationContext;
}

/** Commit, branch and pull request, in this order; at the repository's pace. */
async function offer(
  deps: SubmitDeps,
  { access, passed, effect, context }: Offer,
): Promise<{ readonly pull: PullRequestFound; readonly commit: string }> {
  const { run, patch } = passed;
  const branch = branchOf(run.id);
  await keepPace(access, deps.pace, context.now());
  const content = {
    run: run.id,
    repository: effect.repository,
    baseCommit: patch.baseCommit,
    tree: patch.tree,
    diff: patch.diff,
    message: commitMessage(passed),
  };
  const commit = await ensureBranch(access, deps.mirror, content, context.signal);
  context.progress(`branch ${branch} at ${commit.slice(0, 12)}`);
  const pull = await openPullRequest(access, {
    branch,
    base: effect.repository.defaultBranch,
    title: pullRequestTitle(passed),
    body: pullRequestBody(passed, effect.key),
    draft: draftReasons(passed).length > 0,
  });
  return { pull, commit };
}
