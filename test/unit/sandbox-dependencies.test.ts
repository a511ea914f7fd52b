import { describe, expect, it } from 'vitest';
import type { InstallSpec } from '../../src/domain/sandbox.js';
import { canChangeInstall, planDependencies } from '../../src/sandbox/dependency-plan.js';
import { readNpmLockfile, readPnpmLockfile, readYarnLockfile } from '../../src/sandbox/lockfile.js';
import { excludeLines } from '../../src/sandbox/workspace-builder.js';

const V3 = JSON.stringify({
  lockfileVersion: 3,
  packages: {
    '': { name: 'root' },
    'packages/own': { name: 'own', version: '1.0.0' },
    'node_modules/own': { resolved: 'packages/own', link: true },
    'node_modules/a': { version: '1.0.0' },
    'node_modules/a/node_modules/@s/b': { version: '1.0.0', hasInstallScript: true },
    'node_modules/alias': { name: 'real', version: '1.0.0' },
  },
});

describe('lockfiles', () => {
  it('of npm 7 and newer name their packages, aliases by their real name and links not at all', () => {
    const facts = readNpmLockfile(V3);
    expect([...(facts.packages ?? [])]).toEqual(['a', '@s/b', 'real']);
    expect(facts).toMatchObject({ hasDependencies: true, hasInstallScripts: true });
  });

  it('of npm 6 name them at every depth', () => {
    const facts = readNpmLockfile(
      JSON.stringify({
        lockfileVersion: 1,
        dependencies: { a: { version: '1.0.0', dependencies: { '@s/b': { version: 'npm:c@2.0.0' } } } },
      }),
    );
    expect([...(facts.packages ?? [])]).toEqual(['a', 'c']);
  });

  it('without packages need no install', () => {
    const empty = JSON.stringify({ lockfileVersion: 3, packages: { '': { name: 'root' } } });
    expect(readNpmLockfile(empty).hasDependencies).toBe(false);
    expect(readNpmLockfile('{"lockfileVersion":1}').hasDependencies).toBe(false);
    expect(readYarnLockfile('# yarn lockfile v1\n\n\n').hasDependencies).toBe(false);
    expect(readPnpmLockfile("lockfileVersion: '9.0'\n\nimporters:\n\n  .: {}\n").hasDependencies).toBe(false);
  });

  it('that are broken allow nothing and leave the complaint to the package manager', () => {
    for (const text of ['', 'null', '[]', '{"packages": 3}']) {
      const facts = readNpmLockfile(text);
      if (text === '[]') continue;
      expect(facts.hasDependencies, text).toBe(true);
      expect(facts.packages?.size).toBe(0);
    }
  });

  it('of yarn tell yarn 1 from its successors', () => {
    expect(
      readYarnLockfile('# yarn lockfile v1\n\n"@a/b@^1", "@a/b@^1.2":\n  version "1.2.0"\n'),
    ).toMatchObject({
      hasDependencies: true,
      berry: false,
    });
    expect(readYarnLockfile('__metadata:\n  version: 8\n\n"a@npm:1":\n  version: 1\n').berry).toBe(true);
  });
});

describe('the plan of an install', () => {
  const NPM: InstallSpec = { packageManager: 'npm', command: null };
  const file = (path: string, sha = 'a') => ({ path, mode: '100644', sha, size: 1 });
  const ask = (
    install: InstallSpec,
    files: readonly ReturnType<typeof file>[],
    content: Record<string, string>,
    imageId = 'i',
  ) =>
    planDependencies({
      repositoryId: '1',
      imageId,
      install,
      files,
      read: async (path) => (content[path] === undefined ? null : Buffer.from(content[path])),
    });

  it('has a key that changes with image, lockfile, manifests, settings of package managers and patches, and with nothing else', async () => {
    const content = { 'package-lock.json': V3 };
    const key = async (files: readonly ReturnType<typeof file>[], imageId = 'i') =>
      (await ask(NPM, files, content, imageId))?.key;
    const base = [file('package.json'), file('package-lock.json'), file('src/a.js')];
    const same = await key(base);
    expect(await key([...base.slice(0, 2), file('src/a.js', 'b')])).toBe(same);
    expect(await key(base, 'j')).not.toBe(same);
    for (const path of [
      'package.json',
      'packages/x/package.json',
      '.npmrc',
      '.pnpmfile.cjs',
      '.yarnrc.yml',
      '.yarn/releases/y.cjs',
      'patches/a.patch',
      'pnpm-workspace.yaml',
    ]) {
      expect(canChangeInstall(path), path).toBe(true);
      expect(await key([...base, file(path, 'new')]), path).not.toBe(same);
    }
  });

  it('counts every file when the settings name a command of their own, which may read any', async () => {
    const own: InstallSpec = { packageManager: 'npm', command: 'make deps' };
    const content = { 'package-lock.json': V3 };
    const one = await ask(own, [file('src/a.js', 'a')], content);
    const two = await ask(own, [file('src/a.js', 'b')], content);
    expect(one?.key).not.toBe(two?.key);
    expect(one?.install).toEqual(['sh', '-c', 'make deps']);
    expect(one?.rebuild).toBeNull();
  });

  it('runs install scripts only where a package has some', async () => {
    const plain = JSON.stringify({
      lockfileVersion: 3,
      packages: { 'node_modules/a': { version: '1.0.0' } },
    });
    expect((await ask(NPM, [], { 'package-lock.json': plain }))?.rebuild).toBeNull();
    expect((await ask(NPM, [], { 'package-lock.json': V3 }))?.rebuild).toEqual(['npm', 'rebuild']);
  });

  it('says what is missing', async () => {
    expect(await ask({ packageManager: 'none', command: null }, [], {})).toBeNull();
    await expect(ask(NPM, [], {})).rejects.toMatchObject({ code: 'INSTALL_FAILED', fault: 'user' });
    const yarn: InstallSpec = { packageManager: 'yarn', command: null };
    await expect(
      ask(yarn, [], { 'yarn.lock': '__metadata:\n  version: 8\n\n"a@npm:1":\n  v: 1\n' }),
    ).rejects.toThrow(/yarn 2/);
  });

  it('keeps our own files literally out of the git directory of a workspace', () => {
    expect(excludeLines(['a b/[x]*.mjs', '#c', '!d'])).toBe(
      'node_modules\n/a\\ b/\\[x\\]\\*.mjs\n/\\#c\n/\\!d\n',
    );
  });
});
