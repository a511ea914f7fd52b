/** A git repository in a temporary directory for tests, written file by file. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { RepositoryRef } from '../../src/domain/repository.js';

export interface LocalRepository {
  readonly directory: string;
  readonly ref: RepositoryRef;
  git(...argv: string[]): string;
  write(path: string, content: string | Buffer, mode?: number): void;
  link(path: string, target: string): void;
  /** Commits everything and returns the commit's id. */
  commit(message?: string): string;
  remove(): void;
}

const IDENTITY = {
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.invalid',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.invalid',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
};

/** `id`: the repository id that mirrors and caches go by. */
export function createLocalRepository(
  id: string,
  files: Readonly<Record<string, string>> = {},
): LocalRepository {
  const directory = mkdtempSync(join(tmpdir(), 'hasten-test-repository-'));
  const git = (...argv: string[]) =>
    execFileSync('git', ['-C', directory, ...argv], {
      encoding: 'utf8',
      env: { ...process.env, ...IDENTITY },
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const write = (path: string, content: string | Buffer, mode?: number) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
    if (mode !== undefined) chmodSync(join(directory, path), mode);
  };
  git('init', '--quiet', '--initial-branch=main');
  for (const [path, content] of Object.entries(files)) write(path, content);
  return {
    directory,
    ref: { id, owner: 'local', name: id, installationId: null, defaultBranch: 'main', cloneUrl: directory },
    git,
    write,
    link: (path, target) => symlinkSync(target, join(directory, path)),
    commit(message = 'change') {
      git('add', '--all', '--force');
      git('commit', '--quiet', '--allow-empty', '--message', message);
      return git('rev-parse', 'HEAD');
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
