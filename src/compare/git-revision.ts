/** A revision of the user's own repository as one side of a comparison; nothing is written to that repository. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Subject, SubjectPlaces } from './compared-subject.js';

const run = promisify(execFile);
const GIT_TIMEOUT_MS = 30_000;

export interface FoundRevision {
  /** Root of the repository, absolute. */
  readonly root: string;
  readonly commit: string;
}

/** Null when `--repo` is in no repository, or the repository has no such commit. */
export async function resolveRevision(
  revision: string,
  places: Pick<SubjectPlaces, 'cwd' | 'repo' | 'signal'>,
): Promise<FoundRevision | null> {
  const directory = resolve(places.cwd, places.repo);
  const root = await gitLine(directory, ['rev-parse', '--show-toplevel'], places.signal);
  if (root === null) return null;
  const wanted = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`];
  const commit = await gitLine(root, wanted, places.signal);
  return commit === null || !/^[0-9a-f]{40}$/.test(commit) ? null : { root, commit };
}

export function gitRevisionSubject(given: string, { root, commit }: FoundRevision): Subject {
  return {
    given,
    identity: commit.slice(0, 12),
    repository: {
      // The same as that of `hasten run`, so that both find each other's installed dependencies.
      id: `local-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`,
      owner: basename(dirname(root)) || 'local',
      name: basename(root),
      installationId: null,
      defaultBranch: 'main',
      cloneUrl: root,
    },
    commit,
    root,
    packageName: null,
  };
}

/** Output of git without the break at the end; null when git fails. */
export async function gitLine(
  directory: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string | null> {
  const argv = ['-C', directory, '-c', 'core.fsmonitor=false', ...args];
  try {
    const { stdout } = await run('git', argv, { timeout: GIT_TIMEOUT_MS, signal });
    return stdout.trim();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') throw error;
    return null;
  }
}
