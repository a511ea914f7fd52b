/** The SourceMirror over the host's git: one bare repository per repository, never a work tree, never its configuration. */
import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import type { CloneCredentials } from '../domain/credentials.js';
import { BugError, PeerError, UserError } from '../domain/errors.js';
import type { RepositoryRef, SourceMirror, TreeEntry } from '../domain/repository.js';
import { writeLocalBranch } from './git-branch.js';
import { GIT_CONFIGURATION, RAW_ATTRIBUTES } from './git-configuration.js';
import { fetchCommit } from './git-fetch.js';
import { withoutStaleLocks } from './git-locks.js';
import { applyDiff, isSafePath, type MirrorGit } from './git-patch.js';
import { lastLines, runGit, streamGit } from './git-process.js';
import { createKeyedQueue } from './keyed-queue.js';

export interface GitMirrorOptions {
  /** Directory of this installation; mirrors stand below `mirrors/`. */
  readonly dataDir: string;
  readonly credentials: CloneCredentials;
  /** Milliseconds for one fetch; default ten minutes. */
  readonly fetchTimeoutMs?: number;
  /** Milliseconds for any other git call; default two minutes. */
  readonly callTimeoutMs?: number;
  /** Bytes of the largest file that `readFile` returns; default 32 MiB. */
  readonly maxFileBytes?: number;
}

const OBJECT_ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** Makes the mirror; nothing touches the disk before its first use. */
export function createGitMirror(options: GitMirrorOptions): SourceMirror {
  const root = resolve(options.dataDir, 'mirrors');
  const configurationFile = join(root, 'gitconfig');
  const fetchTimeoutMs = options.fetchTimeoutMs ?? 600_000;
  const callTimeoutMs = options.callTimeoutMs ?? 120_000;
  const maxFileBytes = options.maxFileBytes ?? 32 * 2 ** 20;
  const queue = createKeyedQueue();
  let configured = false;

  /** Written anew by each process, so that neither an older version nor a lost file decides. */
  const configuration = (): string => {
    if (configured) return configurationFile;
    mkdirSync(root, { recursive: true, mode: 0o700 });
    writeFileSync(`${configurationFile}.new`, GIT_CONFIGURATION);
    renameSync(`${configurationFile}.new`, configurationFile);
    configured = true;
    return configurationFile;
  };
  const directoryOf = (repository: RepositoryRef) => join(root, `${directoryName(repository)}.git`);
  const gitIn =
    (repository: RepositoryRef, timeoutMs = callTimeoutMs, signal?: AbortSignal): MirrorGit =>
    (call) => {
      const gitDir = directoryOf(repository);
      const bounded = { ...call, gitDir, timeoutMs, ...(signal === undefined ? {} : { signal }) };
      return withoutStaleLocks(gitDir, () => runGit(configuration(), bounded), signal);
    };

  return {
    fetch(repository, commit, signal) {
      checkObjectId(commit);
      return queue.run(repository.id, async () => {
        signal.throwIfAborted();
        await ensureMirror(configuration(), directoryOf(repository), callTimeoutMs);
        const token = await (isAbsolute(repository.cloneUrl)
          ? null
          : options.credentials.tokenFor(repository, signal));
        await fetchCommit(gitIn(repository, fetchTimeoutMs, signal), { repository, commit, token });
      });
    },

    async readFile(repository, treeish, path) {
      checkObjectId(treeish);
      if (!isSafePath(path)) return null;
      const git = gitIn(repository);
      const listed = await git({ argv: ['ls-tree', '-z', '-l', '--full-tree', treeish, '--', path] });
      if (listed.code !== 0) throw unreadable(treeish, listed.stderr);
      const entry = parseTree(listed.stdout.toString('utf8'))[0];
      if (entry === undefined || entry.path !== path || !entry.mode.startsWith('100')) return null;
      if (entry.size > maxFileBytes) throw fileTooLarge(path, entry.size, maxFileBytes);
      const shown = await git({ argv: ['cat-file', 'blob', entry.sha], maxBytes: maxFileBytes });
      if (shown.code !== 0) throw unreadable(treeish, shown.stderr);
      return shown.stdout;
    },

    async listFiles(repository, treeish) {
      checkObjectId(treeish);
      const listed = await gitIn(repository)({ argv: ['ls-tree', '-r', '-l', '-z', '--full-tree', treeish] });
      if (listed.code !== 0) throw unreadable(treeish, listed.stderr);
      return parseTree(listed.stdout.toString('utf8'));
    },

    applyPatch(repository, commit, diff) {
      checkObjectId(commit);
      return applyDiff(gitIn(repository), directoryOf(repository), commit, diff);
    },

    archive(repository, treeish) {
      checkObjectId(treeish);
      return streamGit(configuration(), {
        argv: ['archive', '--format=tar', treeish],
        gitDir: directoryOf(repository),
        timeoutMs: fetchTimeoutMs,
      });
    },

    writeBranch(repository, spec) {
      checkObjectId(spec.parent);
      checkObjectId(spec.tree);
      return queue.run(repository.id, () => writeLocalBranch(gitIn(repository), repository, spec));
    },
  };
}

/** Reads `git ls-tree -r -l -z`: `mode SP type SP sha SP+ size TAB path NUL` each. */
export function parseTree(output: string): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (const record of output.split('\0')) {
    const parts = /^(\d{6}) (\w+) ([0-9a-f]+) +(\d+|-)\t([\s\S]+)$/.exec(record);
    if (parts === null) continue;
    const [, mode = '', , sha = '', size = '', path = ''] = parts;
    entries.push({ path, mode, sha, size: size === '-' ? 0 : Number(size) });
  }
  return entries.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/** A file name for the repository id, which comes from outside. */
function directoryName(repository: RepositoryRef): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(repository.id)) return repository.id;
  return `x-${createHash('sha256').update(repository.id).digest('hex').slice(0, 32)}`;
}

async function ensureMirror(configurationFile: string, gitDir: string, timeoutMs: number): Promise<void> {
  if (await exists(join(gitDir, 'hasten-ready'))) return;
  await rm(gitDir, { recursive: true, force: true });
  const made = await runGit(configurationFile, {
    argv: ['init', '--quiet', '--bare', '--template='],
    gitDir,
    timeoutMs,
  });
  if (made.code !== 0) {
    throw new PeerError({
      code: 'GIT_INIT_FAILED',
      message: `no mirror could be made at ${gitDir}: ${lastLines(made.stderr)}; is the data directory writable?`,
      retryable: false,
    });
  }
  await mkdir(join(gitDir, 'info'), { recursive: true });
  await writeFile(join(gitDir, 'info', 'attributes'), RAW_ATTRIBUTES);
  await writeFile(join(gitDir, 'hasten-ready'), '');
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function checkObjectId(id: string): void {
  if (!OBJECT_ID.test(id)) {
    throw new BugError({
      code: 'NOT_AN_OBJECT_ID',
      message: `expected a full hex object id, got ${JSON.stringify(id)}`,
    });
  }
}

function unreadable(treeish: string, stderr: string): UserError {
  return new UserError({
    code: 'COMMIT_NOT_FOUND',
    message: `${treeish} cannot be read from the mirror: ${lastLines(stderr)}`,
  });
}

function fileTooLarge(path: string, size: number, limit: number): UserError {
  return new UserError({
    code: 'FILE_TOO_LARGE',
    message: `${path} has ${size} bytes; files up to ${limit} bytes are read`,
  });
}
