/** A folder as one side of a comparison: the files that git would take, or all of them, as a commit of a temporary repository. */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, opendir, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { PeerError, UserError } from '../domain/errors.js';
import { GIT_CONFIGURATION, RAW_ATTRIBUTES } from '../sandbox/git-configuration.js';
import { lastLines, runGit } from '../sandbox/git-process.js';
import type { Subject, SubjectPlaces } from './compared-subject.js';

const run = promisify(execFile);
const LIST_TIMEOUT_MS = 60_000;
const LIST_BYTES = 256 * 2 ** 20;
const COMMIT_TIMEOUT_MS = 300_000;
const LEFT_OUT = new Set(['.git', 'node_modules']);
/** Always the same, so that the same files make the same commit and caches find it again. */
const IDENTITY = {
  GIT_AUTHOR_NAME: 'hasten',
  GIT_AUTHOR_EMAIL: 'hasten@example.invalid',
  GIT_AUTHOR_DATE: '1970-01-01T00:00:00Z',
  GIT_COMMITTER_NAME: 'hasten',
  GIT_COMMITTER_EMAIL: 'hasten@example.invalid',
  GIT_COMMITTER_DATE: '1970-01-01T00:00:00Z',
};

/** `path` is absolute and a directory. Throws UserError `DIRECTORY_EMPTY`, PeerError when git fails. */
export async function directorySubject(given: string, path: string, places: SubjectPlaces): Promise<Subject> {
  const root = await realpath(path);
  const files = await filesOf(root, places.signal);
  if (files.length === 0) {
    throw new UserError({
      code: 'DIRECTORY_EMPTY',
      message: `compare: the directory ${given} has no files.`,
    });
  }
  const commit = await commitFiles(root, files, places);
  return {
    given,
    identity: `files ${commit.commit.slice(0, 12)}`,
    repository: {
      id: `directory-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`,
      owner: basename(dirname(root)) || 'local',
      name: basename(root) || 'root',
      installationId: null,
      defaultBranch: 'main',
      cloneUrl: commit.repository,
    },
    commit: commit.commit,
    root,
    packageName: null,
  };
}

/** Tracked and not ignored files in a git work tree; all but `node_modules` and `.git` where git knows none. */
async function filesOf(root: string, signal: AbortSignal): Promise<readonly string[]> {
  const known = await gitFiles(root, signal);
  const listed = known.length > 0 ? known : await allFiles(root, '', signal);
  const there = await Promise.all(
    listed.map(async (path) => ((await isFile(join(root, path))) ? [path] : [])),
  );
  return there.flat();
}

async function gitFiles(root: string, signal: AbortSignal): Promise<readonly string[]> {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const argv = ['-C', root, '-c', 'core.fsmonitor=false', ...list];
  const options = { timeout: LIST_TIMEOUT_MS, maxBuffer: LIST_BYTES, signal };
  const listed = await run('git', argv, options).catch(() => null);
  signal.throwIfAborted();
  return (listed?.stdout ?? '').split('\0').filter((path) => path !== '');
}

async function allFiles(root: string, below: string, signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const entry of await opendir(join(root, below))) {
    signal.throwIfAborted();
    if (LEFT_OUT.has(entry.name)) continue;
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) found.push(...(await allFiles(root, path, signal)));
    else found.push(path);
  }
  return found;
}

/** Deleted files that git still tracks, sockets and submodules are none. */
async function isFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isFile() || found.isSymbolicLink(),
    () => false,
  );
}

/** The files, byte by byte, as a commit in a bare repository below `temporary`. */
export async function commitFiles(
  root: string,
  files: readonly string[],
  places: Pick<SubjectPlaces, 'temporary' | 'signal'>,
): Promise<{ readonly repository: string; readonly commit: string }> {
  const gitDir = join(places.temporary, `${randomUUID().slice(0, 8)}.git`);
  const configuration = join(places.temporary, 'gitconfig');
  await writeFile(configuration, GIT_CONFIGURATION);
  const git = async (argv: readonly string[], stdin = '', more: Record<string, string> = {}) => {
    const { signal } = places;
    const env = { ...IDENTITY, ...more };
    const call = { argv, gitDir, env, stdin, timeoutMs: COMMIT_TIMEOUT_MS, signal };
    const result = await runGit(configuration, call);
    if (result.code === 0) return result.stdout.toString('utf8').trim();
    throw new PeerError({
      code: 'DIRECTORY_NOT_READ',
      message: `the files of ${root} could not be taken (git ${argv[0]}): ${lastLines(result.stderr)}`,
      retryable: false,
    });
  };
  await git(['init', '--quiet', '--bare', '--template=']);
  await mkdir(join(gitDir, 'info'), { recursive: true });
  await writeFile(join(gitDir, 'info', 'attributes'), RAW_ATTRIBUTES);
  const list = files.map((path) => `${path}\0`).join('');
  await git(['update-index', '--add', '-z', '--stdin'], list, { GIT_WORK_TREE: root });
  const tree = await git(['write-tree']);
  const commit = await git(['commit-tree', tree, '-m', 'files']);
  await git(['update-ref', 'refs/heads/main', commit]);
  return { repository: gitDir, commit };
}
