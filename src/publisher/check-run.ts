/** The check run on the patch's commit, found again by its external id. */
import { callGithub } from './github-errors.js';
import type { RepositoryAccess } from './repository-access.js';

const WORDS = { permission: 'checks: write' } as const;
const NAME = 'hasten';

export interface CheckRunSpec {
  readonly commit: string;
  /** External id: the key of the effect. */
  readonly key: string;
  readonly output: { readonly title: string; readonly summary: string };
  /** Epoch milliseconds. */
  readonly completedAt: number;
}

/** Makes sure that the commit carries the gate's check run. */
export async function ensureCheckRun(access: RepositoryAccess, spec: CheckRunSpec): Promise<void> {
  const runs = await callGithub({ what: 'list check runs', ...WORDS }, () =>
    access.octokit.paginate(access.octokit.rest.checks.listForRef, {
      ...access.at,
      ref: spec.commit,
      check_name: NAME,
      // By default GitHub names the latest of a name only, which may be another effect's.
      filter: 'all',
      per_page: 100,
    }),
  );
  if (runs.some((run) => run.external_id === spec.key)) return;
  await callGithub({ what: 'write a check run', ...WORDS }, () =>
    access.octokit.rest.checks.create({
      ...access.at,
      name: NAME,
      head_sha: spec.commit,
      external_id: spec.key,
      status: 'completed',
      conclusion: 'success',
      completed_at: new Date(spec.completedAt).toISOString(),
      output: { title: spec.output.title, summary: spec.output.summary },
    }),
  );
}
