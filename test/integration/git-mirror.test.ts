/** The mirror over the host's git: what it fetches, what it refuses, and that nothing hostile runs or stands on the host. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RepositoryRef, SourceMirror } from '../../src/domain/repository.js';
import { createGitMirror } from '../../src/sandbox/git-mirror.js';
import { createLocalRepository, type LocalRepository } from '../support/local-repository.js';

const signal = new AbortController().signal;
let dataDir: string;
let mirror: SourceMirror;
let repository: LocalRepository;
let base: string;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'hasten-test-mirror-'));
  mirror = createGitMirror({ dataDir, credentials: { tokenFor: async () => null } });
  repository = createLocalRepository('mirror', {
    'a.txt': 'one\ntwo\nthree\n',
    'dir/b.txt': 'b\n',
    'bin.dat': 'x',
    '[a].txt': 'literal\n',
  });
  repository.write('bin.dat', Buffer.from([0, 1, 2, 255]));
  repository.link('link', 'a.txt');
  base = repository.commit('base');
  await mirror.fetch(repository.ref, base, signal);
});

afterAll(() => {
  repository.remove();
  rmSync(dataDir, { recursive: true, force: true });
});

function patch(path: string, lines: readonly string[], mode = '100644'): string {
  return [
    `diff --git a/${path} b/${path}`,
    `new file mode ${mode}`,
    '--- /dev/null',
    `+++ b/${path}`,
    `@@ -0,0 +1,${lines.length} @@`,
    ...lines.map((line) => `+${line}`),
    '',
  ].join('\n');
}

describe('a mirror whose git was killed', () => {
  it('gets over the lock files that were left behind', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hasten-test-locks-'));
    const other = createGitMirror({ dataDir: folder, credentials: { tokenFor: async () => null } });
    try {
      await other.fetch(repository.ref, base, signal);
      const [name = ''] = readdirSync(join(folder, 'mirrors')).filter((entry) => entry.endsWith('.git'));
      repository.write('a.txt', 'one\n');
      const next = repository.commit('next');
      for (const lock of ['shallow.lock', `refs/hasten/commits/${next}.lock`]) {
        writeFileSync(join(folder, 'mirrors', name, lock), '');
      }
      await other.fetch(repository.ref, next, signal);
      expect((await other.readFile(repository.ref, next, 'a.txt'))?.toString()).toBe('one\n');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 60_000);
});

describe('reading', () => {
  it('lists every entry with mode, size and id, sorted by path', async () => {
    const files = await mirror.listFiles(repository.ref, base);
    expect(files.map(({ path, mode, size }) => [path, mode, size])).toEqual([
      ['[a].txt', '100644', 8],
      ['a.txt', '100644', 14],
      ['bin.dat', '100644', 4],
      ['dir/b.txt', '100644', 2],
      ['link', '120000', 5],
    ]);
  });

  it('reads regular files byte by byte, and nothing for links, directories, patterns and paths outside', async () => {
    expect(await mirror.readFile(repository.ref, base, 'bin.dat')).toEqual(Buffer.from([0, 1, 2, 255]));
    expect((await mirror.readFile(repository.ref, base, '[a].txt'))?.toString()).toBe('literal\n');
    for (const path of [
      'link',
      'dir',
      'missing',
      '*.txt',
      ':(glob)a*',
      '../a.txt',
      '/etc/passwd',
      '.git/config',
      '',
    ]) {
      expect(await mirror.readFile(repository.ref, base, path), path).toBeNull();
    }
  });

  it('refuses what is no object id, and files that are too large', async () => {
    for (const treeish of ['HEAD', 'main', '--output=/tmp/x', base.slice(0, 12)]) {
      expect(() => mirror.archive(repository.ref, treeish)).toThrow(/object id/);
    }
    const small = createGitMirror({ dataDir, credentials: { tokenFor: async () => null }, maxFileBytes: 10 });
    await expect(small.readFile(repository.ref, base, 'a.txt')).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
    });
  });

  it('fails the archive stream of a tree that it does not have', async () => {
    const read = async () => {
      for await (const _ of mirror.archive(repository.ref, 'f'.repeat(40))) void _;
    };
    await expect(read()).rejects.toMatchObject({ code: 'GIT_FAILED' });
  });
});

describe('fetching', () => {
  it('brings a new commit, takes a known one from the disk, and says when there is none', async () => {
    repository.write('a.txt', 'changed\n');
    const next = repository.commit('next');
    await mirror.fetch(repository.ref, next, signal);
    expect((await mirror.readFile(repository.ref, next, 'a.txt'))?.toString()).toBe('changed\n');
    await mirror.fetch({ ...repository.ref, cloneUrl: '/nonexistent' }, next, signal);
    await expect(mirror.fetch(repository.ref, 'e'.repeat(40), signal)).rejects.toMatchObject({
      code: 'COMMIT_NOT_FOUND',
    });
    await expect(
      mirror.fetch({ ...repository.ref, id: 'gone', cloneUrl: '/nonexistent' }, next, signal),
    ).rejects.toMatchObject({ code: 'GIT_FETCH_FAILED' });
  });

  it('finds a commit that no branch holds any more as long as the repository gives it', async () => {
    repository.git('checkout', '--quiet', '-b', 'side');
    repository.write('side.txt', 'side\n');
    const side = repository.commit('side');
    repository.git('checkout', '--quiet', 'main');
    repository.git('branch', '-D', 'side');
    await mirror.fetch(repository.ref, side, signal);
    expect(await mirror.readFile(repository.ref, side, 'side.txt')).not.toBeNull();
  });

  it('refuses addresses with credentials, other protocols and options', async () => {
    for (const cloneUrl of [
      'https://user:secret@example.invalid/a.git',
      'ssh://example.invalid/a',
      'ext::sh -c id',
      '--upload-pack=id',
      'git@example.invalid:a',
      'file:///etc',
      'relative/path',
    ]) {
      await expect(
        mirror.fetch({ ...repository.ref, id: 'other', cloneUrl }, base, signal),
        cloneUrl,
      ).rejects.toMatchObject({ code: 'CLONE_URL_NOT_ALLOWED' });
    }
  });

  it('sends the token as a header to the address it is for, and writes it nowhere', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' });
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const remote: RepositoryRef = {
      ...repository.ref,
      id: 'token',
      cloneUrl: `http://127.0.0.1:${port}/o/n.git`,
    };
    const withToken = createGitMirror({ dataDir, credentials: { tokenFor: async () => 'canary-token' } });
    const error = await withToken.fetch(remote, base, signal).catch((thrown: unknown) => thrown);
    server.close();
    expect(error).toMatchObject({ code: 'GIT_FETCH_FAILED', retryable: false });
    expect(seen[0]).toBe(`Basic ${Buffer.from('x-access-token:canary-token').toString('base64')}`);
    expect(String(error)).not.toContain('canary');
    const hits = readdirSync(dataDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .filter((entry) =>
        /canary|eC1hY2Nlc3M/.test(readFileSync(join(entry.parentPath, entry.name), 'latin1')),
      );
    expect(hits).toEqual([]);
  });

  it('stops when the signal aborts', async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 300);
    const remote = { ...repository.ref, id: 'slow', cloneUrl: `http://127.0.0.1:${port}/o/n.git` };
    await expect(mirror.fetch(remote, base, abort.signal)).rejects.toMatchObject({ name: 'AbortError' });
    server.closeAllConnections();
    server.close();
  });
});

describe('a hostile repository', () => {
  it('runs none of its hooks and helpers when it is fetched from or pushed to', async () => {
    const hostile = createLocalRepository('hostile', { 'a.txt': 'a\n' });
    const commit = hostile.commit();
    const trap = join(dataDir, 'trapped');
    const command = `sh -c 'echo "$0" >> ${trap}'`;
    for (const hook of [
      'pre-receive',
      'update',
      'post-receive',
      'reference-transaction',
      'post-update',
      'pre-push',
      'post-index-change',
      'proc-receive',
    ]) {
      hostile.write(`.git/hooks/${hook}`, `#!/bin/sh\necho ${hook} >> ${trap}\n`, 0o755);
    }
    for (const key of [
      'core.fsmonitor',
      'core.sshCommand',
      'core.alternateRefsCommand',
      'core.gitProxy',
      'core.askPass',
      'core.editor',
      'core.pager',
      'uploadpack.packObjectsHook',
      'diff.external',
      'filter.x.clean',
      'filter.x.smudge',
      'credential.helper',
      'receive.certNonceSeed',
      'gc.recentObjectsHook',
      'maintenance.strategy',
    ]) {
      hostile.git('config', key, command);
    }
    await mirror.fetch(hostile.ref, commit, signal);
    const { tree } = await mirror.applyPatch(hostile.ref, commit, patch('new.txt', ['x']));
    await mirror.writeBranch(hostile.ref, {
      branch: 'hasten/abc',
      parent: commit,
      tree,
      message: 'm',
      at: 0,
    });
    expect(() => readFileSync(trap)).toThrow(/ENOENT/);
    expect(hostile.git('rev-parse', 'hasten/abc^')).toBe(commit);
    hostile.remove();
  });

  it('is refused when its objects are broken: a path .git, a path .., a submodule that names options', async () => {
    for (const path of ['.git', '..', '.GIT']) {
      const hostile = createLocalRepository(`broken-${path}`, { 'a.txt': 'a\n' });
      hostile.commit();
      const blob = hostile.git('rev-parse', 'HEAD:a.txt');
      const record = Buffer.concat([Buffer.from(`100644 ${path}\0`), Buffer.from(blob, 'hex')]);
      const tree = execFileSync(
        'git',
        ['-C', hostile.directory, 'hash-object', '-t', 'tree', '-w', '--stdin', '--literally'],
        { input: record, encoding: 'utf8' },
      ).trim();
      const commit = hostile.git('commit-tree', tree, '-m', 'hostile');
      hostile.git('update-ref', 'refs/heads/main', commit);
      await expect(mirror.fetch(hostile.ref, commit, signal), path).rejects.toMatchObject({
        code: 'GIT_FETCH_FAILED',
      });
      hostile.remove();
    }
    const hostile = createLocalRepository('submodule', {
      '.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = --upload-pack=id\n',
    });
    const commit = hostile.commit();
    await expect(mirror.fetch(hostile.ref, commit, signal)).rejects.toMatchObject({
      code: 'GIT_FETCH_FAILED',
    });
    hostile.remove();
  });
});

describe('applying a patch', () => {
  it('makes the tree in the object store and tells every change', async () => {
    const diff = [
      'diff --git a/a.txt b/a.txt',
      '--- a/a.txt',
      '+++ b/a.txt',
      '@@ -1,3 +1,4 @@',
      ' one',
      '-two',
      '+zwei',
      '+neu',
      ' three',
      'diff --git a/dir/b.txt b/dir/b.txt',
      'deleted file mode 100644',
      '--- a/dir/b.txt',
      '+++ /dev/null',
      '@@ -1 +0,0 @@',
      '-b',
      '',
    ].join('\n');
    const { tree, changes } = await mirror.applyPatch(
      repository.ref,
      base,
      diff + patch('run.sh', ['echo'], '100755'),
    );
    expect(changes).toEqual([
      {
        path: 'a.txt',
        status: 'modified',
        oldMode: '100644',
        newMode: '100644',
        newSize: 19,
        additions: 2,
        deletions: 1,
        binary: false,
      },
      {
        path: 'dir/b.txt',
        status: 'deleted',
        oldMode: '100644',
        newMode: null,
        newSize: 0,
        additions: 0,
        deletions: 1,
        binary: false,
      },
      {
        path: 'run.sh',
        status: 'added',
        oldMode: null,
        newMode: '100755',
        newSize: 5,
        additions: 1,
        deletions: 0,
        binary: false,
      },
    ]);
    expect((await mirror.readFile(repository.ref, tree, 'a.txt'))?.toString()).toBe(
      'one\nzwei\nneu\nthree\n',
    );
    expect(await mirror.applyPatch(repository.ref, base, '')).toMatchObject({ changes: [] });
  });

  it('leaves no index behind and gives the same tree again', async () => {
    const diff = patch('x.txt', ['x']);
    const trees = await Promise.all([1, 2, 3].map(() => mirror.applyPatch(repository.ref, base, diff)));
    expect(new Set(trees.map(({ tree }) => tree)).size).toBe(1);
    expect(
      readdirSync(join(dataDir, 'mirrors', 'mirror.git')).filter((name) => name.includes('index')),
    ).toEqual([]);
  });

  it('shows a link as a link, so that the policy can refuse it, and never writes through one', async () => {
    const { changes } = await mirror.applyPatch(
      repository.ref,
      base,
      patch('escape', ['/etc'], '120000').replace('+/etc', '+/etc\n\\ No newline at end of file'),
    );
    expect(changes).toMatchObject([{ path: 'escape', newMode: '120000' }]);
    const through =
      patch('escape2', ['/tmp'], '120000').replace('+/tmp', '+/tmp\n\\ No newline at end of file') +
      patch('escape2/x.txt', ['x']);
    await expect(mirror.applyPatch(repository.ref, base, through)).rejects.toMatchObject({
      code: 'PATCH_DOES_NOT_APPLY',
    });
    await expect(mirror.applyPatch(repository.ref, base, patch('link/x.txt', ['x']))).rejects.toMatchObject({
      code: 'PATCH_DOES_NOT_APPLY',
    });
  });

  it.each([
    '../evil',
    'a/../../evil',
    '/etc/evil',
    '.git/hooks/pre-commit',
    'dir/.git/config',
    '.GIT/config',
    'git~1/config',
    '.git./x',
    '.g\u200cit/config',
  ])('refuses the path %s', async (path) => {
    await expect(mirror.applyPatch(repository.ref, base, patch(path, ['x']))).rejects.toMatchObject({
      code: 'PATCH_DOES_NOT_APPLY',
      fault: 'user',
    });
  });

  it('refuses what does not fit, and what is no diff', async () => {
    const wrong = [
      'diff --git a/a.txt b/a.txt',
      '--- a/a.txt',
      '+++ b/a.txt',
      '@@ -1 +1 @@',
      '-absent',
      '+x',
      '',
    ].join('\n');
    for (const diff of [wrong, 'hello', `${wrong}GIT binary patch\nliteral 999999999999\n`]) {
      await expect(mirror.applyPatch(repository.ref, base, diff)).rejects.toMatchObject({
        code: 'PATCH_DOES_NOT_APPLY',
      });
    }
  });
});

describe('writing a branch', () => {
  it('makes the same commit for the same input, by Hasten, and leaves the work tree alone', async () => {
    const { tree } = await mirror.applyPatch(repository.ref, base, patch('x.txt', ['x']));
    const spec = {
      branch: 'hasten/run1',
      parent: base,
      tree,
      message: 'Make it fast\n\nHasten-Run: run1',
      at: 1_700_000_000_123,
    };
    const before = repository.git('status', '--porcelain', '--branch');
    const commit = await mirror.writeBranch(repository.ref, spec);
    expect(await mirror.writeBranch(repository.ref, spec)).toBe(commit);
    expect(repository.git('log', '-1', '--format=%an|%cn|%ct|%B', 'hasten/run1')).toBe(
      'Hasten|Hasten|1700000000|Make it fast\n\nHasten-Run: run1',
    );
    expect(repository.git('rev-parse', 'hasten/run1^', 'hasten/run1^{tree}').split('\n')).toEqual([
      base,
      tree,
    ]);
    expect(repository.git('status', '--porcelain', '--branch')).toBe(before);
    await expect(mirror.writeBranch(repository.ref, { ...spec, message: 'other' })).rejects.toMatchObject({
      code: 'BRANCH_EXISTS',
    });
  });

  it('refuses a checked-out branch and every name outside hasten/', async () => {
    const { tree } = await mirror.applyPatch(repository.ref, base, patch('x.txt', ['x']));
    const spec = { branch: 'hasten/held', parent: base, tree, message: 'm', at: 0 };
    repository.git('checkout', '--quiet', '-b', 'hasten/held', base);
    repository.git('config', 'receive.denyCurrentBranch', 'updateInstead');
    await expect(mirror.writeBranch(repository.ref, spec)).rejects.toMatchObject({
      code: 'BRANCH_CHECKED_OUT',
    });
    repository.git('checkout', '--quiet', 'main');
    for (const branch of [
      'main',
      'hasten',
      'hasten/',
      'hasten/../main',
      'hasten/a b',
      'refs/heads/main',
      '-d',
      'hasten/a:main',
      'hasten/x.lock',
    ]) {
      await expect(mirror.writeBranch(repository.ref, { ...spec, branch }), branch).rejects.toMatchObject({
        code: 'BRANCH_OUTSIDE_HASTEN',
      });
    }
    const remote = { ...repository.ref, cloneUrl: 'https://example.invalid/a.git' };
    await expect(mirror.writeBranch(remote, spec)).rejects.toMatchObject({
      code: 'BRANCH_NEEDS_LOCAL_REPOSITORY',
    });
  });
});

describe("the host's own configuration", () => {
  it('changes nothing', async () => {
    const home = mkdtempSync(join(tmpdir(), 'hasten-test-home-'));
    writeFileSync(
      join(home, '.gitconfig'),
      '[url "/nonexistent"]\n\tinsteadOf = /\n[core]\n\tattributesFile = /nonexistent\n',
    );
    const before = process.env.HOME;
    process.env.HOME = home;
    try {
      repository.write('home.txt', 'x');
      const commit = repository.commit();
      await mirror.fetch(repository.ref, commit, signal);
    } finally {
      process.env.HOME = before;
      rmSync(home, { recursive: true });
    }
  });
});
