/** The issue that an alert gets, since alerts have none of their own: one open issue per alert, found again by its marker. */
import { createHash } from 'node:crypto';
import type { RepositoryRef } from '../domain/repository.js';
import type { RunRecord } from '../domain/run.js';
import { callGithub } from './github-errors.js';
import { carriesMarker, markerOf } from './marker.js';
import { isOurs, type RepositoryAccess } from './repository-access.js';
import { trackingIssueText } from './status-text.js';

const WORDS = { permission: 'issues: write' } as const;

/**
 * Finds or makes the tracking issue of a run's alert. An issue that a person closed is used again only by the run that
 * made it. No label is set: labels start runs.
 */
export async function ensureTrackingIssue(
  access: RepositoryAccess,
  run: RunRecord,
  repository: RepositoryRef,
): Promise<number> {
  const key = trackingKey(run);
  const marker = markerOf(key);
  const [found] = await findIssues(access, marker, run.startedAt);
  if (found !== undefined) return found;
  const { title, body } = trackingIssueText(run, repository, key);
  const created = await callGithub({ what: 'open a tracking issue', ...WORDS }, () =>
    access.octokit.rest.issues.create({ ...access.at, title, body }),
  );
  const [kept, ...doubles] = await findIssues(access, marker, run.startedAt);
  for (const number of doubles) await closeDouble(access, number);
  return kept ?? created.data.number;
}

/** Equal alerts (same fingerprint) share an issue. */
function trackingKey(run: RunRecord): string {
  const alert = createHash('sha256').update(run.trigger.collapseKey).digest('hex').slice(0, 16);
  return `alert:${alert}`;
}

async function findIssues(
  access: RepositoryAccess,
  marker: string,
  startedAt: number,
): Promise<readonly number[]> {
  const issues = await callGithub({ what: 'list issues', ...WORDS }, () =>
    access.octokit.paginate(
      access.octokit.rest.issues.listForRepo,
      {
        ...access.at,
        creator: `${access.app.slug}[bot]`,
        state: 'all',
        sort: 'created',
        direction: 'desc',
        per_page: 100,
      },
      (page, done) => {
        if (page.data.some((issue) => Date.parse(issue.created_at) < startedAt - ISSUE_AGE_MS)) done();
        return page.data;
      },
    ),
  );
  return issues
    .filter((issue) => issue.pull_request === undefined || issue.pull_request === null)
    .filter((issue) => carriesMarker(issue.body, marker) && isOurs(access.app, issue))
    .filter((issue) => issue.state === 'open' || Date.parse(issue.created_at) >= startedAt - 60_000)
    .map((issue) => issue.number)
    .sort((left, right) => left - right);
}

/** Older tracking issues are not searched for: the list is bounded. */
const ISSUE_AGE_MS = 90 * 24 * 60 * 60 * 1000;

async function closeDouble(access: RepositoryAccess, number: number): Promise<void> {
  await callGithub({ what: 'close a double tracking issue', ...WORDS }, () =>
    access.octokit.rest.issues.update({
      ...access.at,
      issue_number: number,
      state: 'closed',
      state_reason: 'not_planned',
    }),
  );
}
