/** Workspaces in a real engine: what they hold, what they share, and what survives a restart. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Sandbox, Workspace, WorkspaceSpec } from '../../src/domain/sandbox.js';
import { createLocalRepository, type LocalRepository } from '../support/local-repository.js';
import { createSandboxRig, type SandboxRig } from '../support/sandbox-rig.js';

// Generous, since a busy machine is slow to start containers; what matters is bounded inside the tests.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const signal = new AbortController().signal;
const NOTHING = { packageManager: 'none', command: null } as const;
let rig: SandboxRig;
let repository: LocalRepository;
let commit: string;

beforeAll(async () => {
  rig = createSandboxRig();
  repository = createLocalRepository('workspaces', {
    'src/index.js': 'one\n',
    'run.sh': 'echo run\n',
    '.gitignore': 'dist/\n*.log\n',
    'dist/bundle.js': 'tracked although ignored\n',
    '.gitattributes': 'secret.txt export-ignore\n*.txt text eol=crlf ident\nsub.txt export-subst\n',
    'secret.txt': 'must be there\n',
    'crlf.txt': '$Id$ a\r\nb\n',
    'sub.txt': '$Format:%H$\n',
    'bench/old.mjs': 'old\n',
    'name with space & "quote"': 'odd\n',
  });
  repository.write('run.sh', 'echo run\n', 0o755);
  repository.link('link', 'src/index.js');
  repository.link('outside', '/etc/passwd');
  // The host's git must keep the bytes as they are.
  repository.git('config', 'core.autocrlf', 'false');
  repository.write('.git/info/attributes', '* -text -ident\n');
  commit = repository.commit();
  await rig.mirror.fetch(repository.ref, commit, signal);
});

afterAll(async () => {
  await rig.close();
  repository.remove();
});

function spec(more: Partial<WorkspaceSpec>): WorkspaceSpec {
  return {
    run: 'r1',
    name: 'base',
    repository: repository.ref,
    baseCommit: commit,
    tree: null,
    install: NOTHING,
    ...more,
  };
}

async function sh(sandbox: Sandbox, workspace: Workspace, script: string): Promise<string> {
  const result = await sandbox.run(workspace, { argv: ['bash', '-c', script], timeoutMs: 20_000 }, signal);
  expect(result.stderr.text).toBe('');
  return result.stdout.text;
}

describe.each([
  ['over overlay volumes', false],
  ['copied', true],
])('a workspace %s', (_, copyWorkspaces) => {
  const run = copyWorkspaces ? 'copied' : 'overlaid';
  let sandbox: Sandbox;
  beforeAll(() => {
    sandbox = rig.restart({ copyWorkspaces });
  });
  afterAll(() => sandbox.discard(run));

  it('holds the tree byte by byte, owned by the sandbox user, whatever its attributes ask for', async () => {
    const workspace = await sandbox.prepare(spec({ run }), signal);
    const listed = await sh(sandbox, workspace, 'stat -c "%u %a" src/index.js run.sh');
    expect(listed).toBe('10001 644\n10001 755\n');
    const hashes = await sh(
      sandbox,
      workspace,
      'find /ws -type f -print0 | sort -z | xargs -0 git -C / hash-object --no-filters; readlink link outside',
    );
    const expected = (await rig.mirror.listFiles(repository.ref, commit)).filter(
      (entry) => entry.mode !== '120000',
    );
    const shas = hashes.trim().split('\n');
    expect(shas.slice(-2)).toEqual(['src/index.js', '/etc/passwd']);
    expect(shas.slice(0, -2).sort()).toEqual(expected.map((entry) => entry.sha).sort());
  });

  it('is the same again for the same run, name and tree, and another one for another name', async () => {
    const first = await sandbox.prepare(spec({ run }), signal);
    await sh(sandbox, first, 'echo edited > src/index.js');
    const again = await sandbox.prepare(spec({ run }), signal);
    expect(again.ref).toBe(first.ref);
    expect(await sh(sandbox, again, 'cat src/index.js')).toBe('edited\n');
    const other = await sandbox.prepare(spec({ run, name: 'copy' }), signal);
    expect(other.ref).not.toBe(first.ref);
    expect(await sh(sandbox, other, 'cat src/index.js')).toBe('one\n');
  });

  it('shows a patched tree beside its base', async () => {
    const diff = [
      'diff --git a/src/index.js b/src/index.js',
      '--- a/src/index.js',
      '+++ b/src/index.js',
      '@@ -1 +1 @@',
      '-one',
      '+two',
      '',
    ].join('\n');
    const { tree } = await rig.mirror.applyPatch(repository.ref, commit, diff);
    const patched = await sandbox.prepare(spec({ run, name: 'patch', tree }), signal);
    expect(await sh(sandbox, patched, 'cat src/index.js bench/old.mjs')).toBe('two\nold\n');
  });

  it('carries our own files, also into directories that exist and over links', async () => {
    const overlay = new Map<string, string>([
      ['.hasten/bench.mjs', 'frozen\n'],
      ['bench/new.mjs', 'new\n'],
    ]);
    const workspace = await sandbox.prepare(spec({ run, name: 'overlay', overlay }), signal);
    expect(
      await sh(
        sandbox,
        workspace,
        'cat .hasten/bench.mjs bench/new.mjs bench/old.mjs; stat -c %u .hasten bench/new.mjs',
      ),
    ).toBe('frozen\nnew\nold\n10001\n10001\n');
    for (const path of ['../x', '/etc/x', 'a/../../x', '.git/hooks/pre-commit', '']) {
      const bad = spec({ run, name: 'bad', overlay: new Map([[path, 'x']]) });
      await expect(sandbox.prepare(bad, signal)).rejects.toMatchObject({ code: 'OVERLAY_PATH_NOT_ALLOWED' });
    }
  });

  it('has a git directory with exactly the tree, so that the diff of an edit applies to the base', async () => {
    const overlay = new Map([['.hasten/bench.mjs', 'frozen\n']]);
    const workspace = await sandbox.prepare(spec({ run, name: 'plan', git: true, overlay }), signal);
    expect(await sh(sandbox, workspace, 'git status --porcelain; git rev-list --count HEAD')).toBe('1\n');
    expect(await sh(sandbox, workspace, 'git rev-parse HEAD^{tree}')).toBe(
      `${repository.git('rev-parse', 'HEAD^{tree}')}\n`,
    );
    const diff = await sh(
      sandbox,
      workspace,
      'mkdir node_modules; echo dep > node_modules/x; echo three >> src/index.js; printf "x\\r\\n" >> crlf.txt; printf "a\\0b" > blob.bin; ' +
        'rm bench/old.mjs; git add -A -N . && git diff --binary --no-ext-diff --no-textconv HEAD',
    );
    const applied = await rig.mirror.applyPatch(repository.ref, commit, diff);
    expect(applied.changes.map((change) => [change.path, change.status, change.binary])).toEqual([
      ['bench/old.mjs', 'deleted', false],
      ['blob.bin', 'added', true],
      ['crlf.txt', 'modified', false],
      ['src/index.js', 'modified', false],
    ]);
    expect((await rig.mirror.readFile(repository.ref, applied.tree, 'crlf.txt'))?.toString()).toBe(
      '$Id$ a\r\nb\nx\r\n',
    );
  });
});

describe('a workspace and its service', () => {
  it('is found again by a restarted service, and rebuilt when its volume is gone', async () => {
    const first = await rig.sandbox.prepare(spec({ run: 'again' }), signal);
    await sh(rig.sandbox, first, 'echo edited > src/index.js');
    const restarted = rig.restart();
    expect(
      await sh(restarted, await restarted.prepare(spec({ run: 'again' }), signal), 'cat src/index.js'),
    ).toBe('edited\n');
    await rig.docker.getVolume(first.ref).remove();
    await expect(restarted.run(first, { argv: ['true'], timeoutMs: 5000 }, signal)).rejects.toMatchObject({
      code: 'WORKSPACE_GONE',
    });
    expect(
      await sh(restarted, await restarted.prepare(spec({ run: 'again' }), signal), 'cat src/index.js'),
    ).toBe('one\n');
    await restarted.discard('again');
  });

  it('takes no half-filled volume of a killed service for a tree', async () => {
    const workspace = await rig.sandbox.prepare(spec({ run: 'half' }), signal);
    const before = await rig.leftovers();
    await rig.sandbox.discard('half');
    // The same name, made by a filling that nobody finished.
    for (const name of before.volumes.filter((volume) => volume.includes('-tree-'))) {
      await rig.docker.getVolume(name).remove();
      await rig.docker.createVolume({
        Name: name,
        Labels: { 'hasten.owner': rig.owner, 'hasten.fill': 'killed' },
      });
    }
    const again = await rig.sandbox.prepare(spec({ run: 'half' }), signal);
    expect(again.ref).toBe(workspace.ref);
    expect(await sh(rig.sandbox, again, 'cat src/index.js')).toBe('one\n');
    await rig.sandbox.discard('half');
  });

  it('is built once when two callers ask at the same time', async () => {
    const specs = [spec({ run: 'both' }), spec({ run: 'both' }), spec({ run: 'both', name: 'copy' })];
    const made = await Promise.all(specs.map((one) => rig.sandbox.prepare(one, signal)));
    expect(made[0]?.ref).toBe(made[1]?.ref);
    expect(made[2]?.ref).not.toBe(made[0]?.ref);
    await rig.sandbox.discard('both');
  });

  it('lets a container of the same name from before go, and takes its place', async () => {
    const workspace = await rig.sandbox.prepare(spec({ run: 'name' }), signal);
    const restarted = rig.restart();
    const taken = await rig.docker.createContainer({
      name: `hasten-${createHash('sha256').update(rig.owner).digest('hex').slice(0, 8)}-name-base-1`,
      Image: 'hasten-sandbox:latest',
      Cmd: ['sleep', '60'],
      Labels: { 'hasten.owner': rig.owner },
    });
    await taken.start();
    const result = await restarted.run(workspace, { argv: ['echo', 'ran'], timeoutMs: 5000 }, signal);
    expect(result.stdout.text).toBe('ran\n');
    await expect(taken.inspect()).rejects.toMatchObject({ statusCode: 404 });
    await rig.sandbox.discard('name');
  });

  it('says where the engine is away', async () => {
    const away = rig.restart({ docker: { socketPath: '/nonexistent/docker.sock' } });
    await expect(away.prepare(spec({ run: 'away' }), signal)).rejects.toMatchObject({
      code: 'DOCKER_UNAVAILABLE',
      retryable: true,
    });
    expect(await away.check()).toMatchObject({ ok: false });
  });

  it('says which runtime or image the engine lacks', async () => {
    const check = await rig.restart({ runtime: 'kata-nowhere' }).check();
    expect(check).toMatchObject({ ok: false, runtime: 'kata-nowhere' });
    expect(check.detail).toContain('runc');
    expect(await rig.restart({ imageTag: 'hasten-no-such-image:1' }).check()).toMatchObject({ ok: false });
    expect((await rig.sandbox.check()).detail).toMatch(/^Docker .*runc$/);
  });
});
