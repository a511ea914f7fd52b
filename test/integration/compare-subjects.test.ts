import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { resolveSubject } from '../../src/compare/subject.js';
import { createGitMirror } from '../../src/sandbox/git-mirror.js';
import { createLocalRepository, type LocalRepository } from '../support/local-repository.js';

const closers: (() => void)[] = [];
const { signal } = new AbortController();

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function folder(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'hasten-subjects-')));
  closers.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function repositoryWith(files: Readonly<Record<string, string>>): LocalRepository {
  const repository = createLocalRepository('subjects', files);
  closers.push(() => repository.remove());
  return repository;
}

function subjectOf(given: string, cwd: string) {
  return resolveSubject(given, { cwd, repo: '.', temporary: folder(), registryUrl: null, signal });
}

/** Path and content of every file of a subject, as the sandbox will get them. */
async function filesOf(given: string, cwd: string): Promise<Record<string, string>> {
  const { repository, commit } = await subjectOf(given, cwd);
  const mirror = createGitMirror({ dataDir: folder(), credentials: { tokenFor: async () => null } });
  await mirror.fetch(repository, commit, signal);
  const entries = await mirror.listFiles(repository, commit);
  const read = async (path: string) => String(await mirror.readFile(repository, commit, path));
  return Object.fromEntries(await Promise.all(entries.map(async ({ path }) => [path, await read(path)])));
}

describe('the subjects of a comparison', () => {
  it('takes a revision as it was committed, whatever lies in the working tree', async () => {
    const repository = repositoryWith({ 'a.txt': 'committed' });
    const commit = repository.commit();
    repository.git('tag', 'v1');
    repository.write('a.txt', 'changed since');
    expect(await subjectOf('v1', repository.directory)).toMatchObject({ commit, given: 'v1' });
    expect(await filesOf('v1', repository.directory)).toEqual({ 'a.txt': 'committed' });
  });

  it('takes of a work tree what git would take, changes and new files too, byte by byte', async () => {
    const repository = repositoryWith({ 'a.txt': 'old', 'gone.txt': 'x', '.gitignore': 'out/\n' });
    repository.write('.gitattributes', '* text=auto\n');
    repository.commit();
    repository.write('a.txt', 'new\r\n');
    repository.write('fresh.txt', 'untracked');
    repository.write('out/built.js', 'ignored');
    rmSync(join(repository.directory, 'gone.txt'));
    expect(await filesOf('.', repository.directory)).toEqual({
      '.gitattributes': '* text=auto\n',
      '.gitignore': 'out/\n',
      'a.txt': 'new\r\n',
      'fresh.txt': 'untracked',
    });
  });

  it('takes all files of any other directory but installed ones, always as the same commit', async () => {
    const cwd = folder();
    for (const path of ['side', 'side/deep', 'side/node_modules', 'side/node_modules/p']) {
      mkdirSync(join(cwd, path));
      writeFileSync(join(cwd, path, 'x.txt'), path);
    }
    expect(await filesOf('./side', cwd)).toEqual({ 'deep/x.txt': 'side/deep', 'x.txt': 'side' });
    expect(await filesOf('side', cwd)).toEqual({ 'deep/x.txt': 'side/deep', 'x.txt': 'side' });
    const [one, other] = [await subjectOf('./side', cwd), await subjectOf('./side', cwd)];
    expect(one.commit).toBe(other.commit);
    expect(one.repository.id).toBe(other.repository.id);
  });

  it('prefers the revision where a directory has the same name, unless a path is written', async () => {
    const repository = repositoryWith({ 'v2/inside.txt': 'directory' });
    const commit = repository.commit();
    repository.git('tag', 'v2');
    expect(await subjectOf('v2', repository.directory)).toMatchObject({ commit });
    expect(await filesOf('./v2', repository.directory)).toEqual({ 'inside.txt': 'directory' });
  });

  it('takes no option of git for a revision', async () => {
    const repository = repositoryWith({ 'a.txt': 'a' });
    repository.commit();
    await expect(subjectOf('--all', repository.directory)).rejects.toMatchObject({
      code: 'SUBJECT_NOT_FOUND',
    });
  });
});
