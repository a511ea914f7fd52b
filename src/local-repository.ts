/** The user's own repository for `hasten run`: what it is called, where it stands, and nothing written to it. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { UserError } from './domain/errors.js';
import type { Log } from './domain/log.js';
import type { RepositoryRef } from './domain/repository.js';
import type { Trigger } from './domain/trigger.js';

const run = promisify(execFile);

/** The repository that holds `directory`. Throws UserError `NOT_A_REPOSITORY`, also for one without a commit. */
export async function localRepository(directory: string): Promise<RepositoryRef> {
  const root = await git(resolve(directory), ['rev-parse', '--show-toplevel']);
  const branch = await git(root, ['rev-parse', '--abbrev-ref', 'HEAD']);
  return {
    id: `local-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`,
    owner: basename(dirname(root)) || 'local',
    name: basename(root),
    installationId: null,
    defaultBranch: branch === 'HEAD' ? 'main' : branch,
    cloneUrl: root,
  };
}

/** The trigger of a run of its HEAD commit; the first line of `issue` is the title. */
export async function localTrigger(repository: RepositoryRef, issue: string): Promise<Trigger> {
  const baseCommit = await git(repository.cloneUrl, ['rev-parse', 'HEAD']);
  const [title = '', ...body] = issue.split('\n');
  const at = Date.now();
  return {
    id: `local:${repository.id}:${at}`,
    source: 'local',
    repository,
    issueNumber: null,
    title: title.trim(),
    body: body.join('\n').trim(),
    hint: null,
    actor: 'local',
    outsideText: false,
    baseCommit,
    requestedAt: at,
    collapseKey: 'local',
  };
}

/** The run starts from the commit, as a reviewer would see it, never from what lies about in the working tree. */
export async function tellUncommitted(repository: RepositoryRef, commit: string, log: Log): Promise<void> {
  const status = ['-c', 'core.fsmonitor=false', 'status', '--porcelain', '--untracked-files=no'];
  const changed = (await git(repository.cloneUrl, ['--no-optional-locks', ...status])) !== '';
  if (!changed) return;
  log.warn(
    { commit },
    `The working tree has uncommitted changes; they are left alone, and only the commit ${commit.slice(0, 12)} (HEAD) is looked at.`,
  );
}

async function git(directory: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run('git', ['-C', directory, ...args], { timeout: 30_000 });
    return stdout.trim();
  } catch (cause) {
    throw new UserError({
      code: 'NOT_A_REPOSITORY',
      message: `${directory} is not a git repository with at least one commit (git ${args.join(' ')} failed). Give the folder of one with --repo.`,
      cause,
    });
  }
}
