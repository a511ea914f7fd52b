/** The publisher at GitHub: what people see of a run, each thing found before it is made, so that a crash repeats nothing. */
import type { Effect, Station, StationContext, Stations } from '../domain/effect.js';
import type { RunRecord } from '../domain/run.js';
import { approvalText } from './approval-text.js';
import type { TokenPermissions } from './github-clients.js';
import { inline, withoutMentions } from './hostile-text.js';
import { ensureComment, upsertComment } from './marked-comment.js';
import { assemble, markerOf, statusKey } from './marker.js';
import { reactToComment, reactToIssue } from './reaction.js';
import { markReady } from './ready-for-review.js';
import { reportText } from './report-text.js';
import { openRepository, type RepositoryAccess } from './repository-access.js';
import { statusText } from './status-text.js';
import { createSubmitStation, type SubmitDeps } from './submit-station.js';
import { ensureTrackingIssue } from './tracking-issue.js';

export type GithubPublisherDeps = SubmitDeps;

/** The effects that this station performs. */
export type PublisherKind =
  | 'acknowledge'
  | 'update-status'
  | 'ask-approval'
  | 'submit'
  | 'report'
  | 'reply'
  | 'make-ready';
export type PublisherStations = Pick<Stations, PublisherKind>;

const ISSUES: TokenPermissions = { issues: 'write', metadata: 'read' };
/** Commands may stand on an issue or on a pull request; their comments need either permission. */
const CONVERSATION: TokenPermissions = { issues: 'write', pull_requests: 'write', metadata: 'read' };
/** Creates the stations that write to GitHub. They throw the errors of `github-errors.ts`. */
export function createGithubPublisher(deps: GithubPublisherDeps): PublisherStations {
  return {
    acknowledge: acknowledgeStation(deps),
    'update-status': updateStatusStation(deps),
    'ask-approval': askApprovalStation(deps),
    submit: createSubmitStation(deps),
    report: reportStation(deps),
    reply: replyStation(deps),
    'make-ready': makeReadyStation(deps),
  };
}

function acknowledgeStation(deps: GithubPublisherDeps): Station<'acknowledge'> {
  return async (effect, context) => {
    const { run, state } = effect.payload;
    const access = await open(deps, effect, ISSUES, context);
    const issueNumber = await issueOf(access, effect);
    await reactToIssue(access, issueNumber);
    const spentUsd = await deps.money.spentByRun(run.id);
    const body = statusText({ run, state, spentUsd, at: context.now() });
    await ensureComment(access, { ...statusComment(run, issueNumber), body });
    context.progress(`issue #${issueNumber} is told`);
    return { type: 'ACKNOWLEDGED', issueNumber };
  };
}

function updateStatusStation(deps: GithubPublisherDeps): Station<'update-status'> {
  return async (effect, context) => {
    const { run, state } = effect.payload;
    if (run.issueNumber === null) return null;
    const access = await open(deps, effect, ISSUES, context);
    const spentUsd = await deps.money.spentByRun(run.id);
    const body = statusText({ run, state, spentUsd, at: context.now() });
    await upsertComment(access, { ...statusComment(run, run.issueNumber), body });
    return null;
  };
}

function askApprovalStation(deps: GithubPublisherDeps): Station<'ask-approval'> {
  return async (effect, context) => {
    const { run } = effect.payload;
    const spentUsd = await deps.money.spentByRun(run.id);
    const body = approvalText({ run, spentUsd, key: effect.key });
    if (body === null) return null;
    const access = await open(deps, effect, ISSUES, context);
    const issueNumber = await issueOf(access, effect);
    await ensureComment(access, {
      issueNumber,
      body,
      marker: markerOf(effect.key),
      notBefore: effect.createdAt,
    });
    context.progress(`asked for approval on issue #${issueNumber}`);
    return null;
  };
}

function reportStation(deps: GithubPublisherDeps): Station<'report'> {
  return async (effect, context) => {
    const { run } = effect.payload;
    const access = await open(deps, effect, ISSUES, context);
    const issueNumber = await issueOf(access, effect);
    const spentUsd = await deps.money.spentByRun(run.id);
    const body = reportText({ run, spentUsd, at: effect.createdAt });
    await upsertComment(access, { ...statusComment(run, issueNumber), body });
    return { type: 'REPORTED' };
  };
}

function replyStation(deps: GithubPublisherDeps): Station<'reply'> {
  return async (effect, context) => {
    const { issueNumber, text, reaction } = effect.payload;
    const access = await open(deps, effect, CONVERSATION, context);
    if (reaction !== null) await reactToComment(access, reaction.commentId, reaction.content);
    if (text !== null) {
      await ensureComment(access, {
        issueNumber,
        body: assemble([withoutMentions(text)], effect.key),
        marker: markerOf(effect.key),
        notBefore: effect.createdAt,
      });
    }
    return null;
  };
}

function makeReadyStation(deps: GithubPublisherDeps): Station<'make-ready'> {
  return async (effect, context) => {
    const { pullNumber, approvedBy } = effect.payload;
    const access = await open(deps, effect, CONVERSATION, context);
    const standing = await markReady(access, pullNumber);
    if (!standing) return null;
    await ensureComment(access, {
      issueNumber: pullNumber,
      body: assemble(
        [`${inline(approvedBy, 80)} approved this draft; it is ready for review now.`],
        effect.key,
      ),
      marker: markerOf(effect.key),
      notBefore: effect.createdAt,
    });
    return null;
  };
}

/**
 * The issue that a run is told on. An alert's is looked up (and made where it is missing) as long as the record of the
 * run does not know it: a run may pause or end before its acknowledgement has come back.
 */
async function issueOf(
  access: RepositoryAccess,
  { payload: { run }, repository }: Effect<'acknowledge' | 'ask-approval' | 'report'>,
): Promise<number> {
  return run.issueNumber ?? run.trigger.issueNumber ?? (await ensureTrackingIssue(access, run, repository));
}

function statusComment(run: RunRecord, issueNumber: number) {
  return { issueNumber, marker: markerOf(statusKey(run.id)), notBefore: run.startedAt };
}

function open(
  deps: GithubPublisherDeps,
  effect: Pick<Effect, 'repository'>,
  permissions: TokenPermissions,
  context: StationContext,
): Promise<RepositoryAccess> {
  return openRepository(deps.clients, effect.repository, permissions, context.signal);
}
