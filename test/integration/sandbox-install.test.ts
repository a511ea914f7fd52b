/** The dependency phase in a real engine: each package manager through the mirror, from a registry of the test's own. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { InstallSpec, Sandbox, WorkspaceSpec } from '../../src/domain/sandbox.js';
import { readRegistryUrl } from '../../src/sandbox/registry-url.js';
import { createLocalRepository, type LocalRepository } from '../support/local-repository.js';
import {
  type PackageRegistry,
  type PublishedPackage,
  startPackageRegistry,
} from '../support/package-registry.js';
import { createSandboxRig, type SandboxRig } from '../support/sandbox-rig.js';

// Generous, since a busy machine is slow to start containers; what matters is bounded inside the tests.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const signal = new AbortController().signal;
const POSTINSTALL = `
const fs = require('node:fs');
fs.writeFileSync('built.txt', 'built');
require('node:http').get('http://127.0.0.1:3128/left-test', (r) => fs.writeFileSync('network.txt', 'mirror ' + r.statusCode))
  .on('error', (e) => fs.writeFileSync('network.txt', e.code));
fs.writeFileSync('socket.txt', String(fs.existsSync('/run/egress/registry.sock')));
`;
let rig: SandboxRig;
let registry: PackageRegistry;
let left: PublishedPackage;
let right: PublishedPackage;
const repositories: LocalRepository[] = [];

beforeAll(async () => {
  registry = await startPackageRegistry();
  rig = createSandboxRig({ registryUrl: registry.url });
  right = await registry.publish({
    'package.json': JSON.stringify({
      name: '@hasten-test/right',
      version: '1.0.0',
      scripts: { postinstall: 'node build.js' },
    }),
    'index.js': 'module.exports = "right";',
    'build.js': POSTINSTALL,
  });
  left = await registry.publish({
    'package.json': JSON.stringify({
      name: 'left-test',
      version: '1.0.0',
      dependencies: { '@hasten-test/right': '1.0.0' },
    }),
    'index.js': 'module.exports = "left " + require("@hasten-test/right");',
  });
});

afterAll(async () => {
  await rig.close();
  await registry.close();
  for (const repository of repositories) repository.remove();
});

function manifest(more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    name: 'subject',
    version: '1.0.0',
    dependencies: { 'left-test': '1.0.0' },
    ...more,
  });
}

function npmLockfile(resolvedAt: string | null): string {
  const entry = (published: PublishedPackage, more: Record<string, unknown>) => ({
    version: published.version,
    ...(resolvedAt === null ? {} : { resolved: `${resolvedAt}${published.name}/-/${published.file}` }),
    integrity: published.integrity,
    ...more,
  });
  return JSON.stringify({
    name: 'subject',
    version: '1.0.0',
    lockfileVersion: 3,
    packages: {
      '': { name: 'subject', version: '1.0.0', dependencies: { 'left-test': '1.0.0' } },
      'node_modules/@hasten-test/right': entry(right, { hasInstallScript: true }),
      'node_modules/left-test': entry(left, { dependencies: { '@hasten-test/right': '1.0.0' } }),
    },
  });
}

function yarnLockfile(): string {
  return `# yarn lockfile v1


"@hasten-test/right@1.0.0":
  version "1.0.0"
  resolved "https://registry.example.invalid/npm/@hasten-test/right/-/right-1.0.0.tgz#${right.shasum}"
  integrity ${right.integrity}

left-test@1.0.0:
  version "1.0.0"
  resolved "https://registry.example.invalid/left-test/-/left-test-1.0.0.tgz#${left.shasum}"
  integrity ${left.integrity}
  dependencies:
    "@hasten-test/right" "1.0.0"
`;
}

function pnpmLockfile(): string {
  return `lockfileVersion: '9.0'

settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false

importers:

  .:
    dependencies:
      left-test:
        specifier: 1.0.0
        version: 1.0.0

packages:

  '@hasten-test/right@1.0.0':
    resolution: {integrity: ${right.integrity}}

  left-test@1.0.0:
    resolution: {integrity: ${left.integrity}}

snapshots:

  '@hasten-test/right@1.0.0': {}

  left-test@1.0.0:
    dependencies:
      '@hasten-test/right': 1.0.0
`;
}

async function subject(
  files: Record<string, string>,
  install: Partial<InstallSpec>,
  run: string,
): Promise<WorkspaceSpec> {
  const repository = createLocalRepository(`install-${run}`, files);
  repositories.push(repository);
  const baseCommit = repository.commit();
  await rig.mirror.fetch(repository.ref, baseCommit, signal);
  return {
    run,
    name: 'base',
    repository: repository.ref,
    baseCommit,
    tree: null,
    install: { packageManager: 'npm', command: null, ...install },
  };
}

async function sh(spec: WorkspaceSpec, script: string, sandbox: Sandbox = rig.sandbox): Promise<string> {
  const workspace = await sandbox.prepare(spec, signal);
  const result = await sandbox.run(workspace, { argv: ['bash', '-c', script], timeoutMs: 20_000 }, signal);
  return result.stdout.text + result.stderr.text;
}

const SHOW = `node -p 'require("left-test")'; cd "$(dirname "$(find -L node_modules -path '*@hasten-test/right/built.txt' | head -1)")" && cat built.txt network.txt socket.txt`;

describe('installing dependencies', () => {
  it.each([
    ['npm', 'package-lock.json', () => npmLockfile(null)],
    ['npm', 'package-lock.json', () => npmLockfile('https://registry.example.invalid/')],
    ['yarn', 'yarn.lock', yarnLockfile],
    ['pnpm', 'pnpm-lock.yaml', pnpmLockfile],
  ] as const)(
    'works for %s with its %s, and install scripts run without mirror and network',
    async (packageManager, file, lockfile) => {
      const run = `${packageManager}-${repositories.length}`;
      const spec = await subject({ 'package.json': manifest(), [file]: lockfile() }, { packageManager }, run);
      expect(await sh(spec, SHOW)).toBe('left right\nbuiltECONNREFUSEDfalse');
      // The lockfile in the workspace is the repository's, although yarn's was changed for the install.
      expect(await sh(spec, `cat ${file}`)).toBe(lockfile());
      expect(await sh(spec, 'ls -A | sort | tr "\\n" " "')).toBe(
        [file, 'node_modules', 'package.json', ''].sort().join(' ').trim().concat(' '),
      );
      await rig.sandbox.discard(run);
    },
  );

  it('comes from the cache for another run, and again when a file that can change it changed', async () => {
    const files = { 'package.json': manifest(), 'package-lock.json': npmLockfile(null), 'src.js': '1' };
    const spec = await subject(files, {}, 'cache');
    const first = await rig.sandbox.prepare(spec, signal);
    expect(first.dependenciesCached).toBe(false);
    const asked = registry.requests.length;
    await sh(spec, 'echo evil > node_modules/left-test/index.js');
    const other = { ...spec, run: 'cache2', name: 'other' };
    const second = await rig.restart().prepare(other, signal);
    expect(second.dependenciesCached).toBe(true);
    expect(registry.requests.length).toBe(asked);
    // What one run writes into its dependencies stays in its own workspace.
    expect(await sh(spec, 'cat node_modules/left-test/index.js')).toBe('evil\n');
    expect(await sh(other, `node -p 'require("left-test")'`)).toBe('left right\n');

    const repository = repositories.at(-1);
    repository?.write('src.js', '2');
    const source = repository?.commit() ?? '';
    await rig.mirror.fetch(spec.repository, source, signal);
    const third = await rig.sandbox.prepare({ ...spec, baseCommit: source }, signal);
    expect(third.dependenciesCached).toBe(true);

    repository?.write('.npmrc', 'color=false\n');
    const configured = repository?.commit() ?? '';
    await rig.mirror.fetch(spec.repository, configured, signal);
    const fourth = await rig.sandbox.prepare({ ...spec, baseCommit: configured }, signal);
    expect(fourth.dependenciesCached).toBe(false);
    await rig.sandbox.discard('cache');
    await rig.sandbox.discard('cache2');
  });

  it('is skipped without a container when the lockfile names nothing', async () => {
    const lockfile = JSON.stringify({
      name: 'subject',
      lockfileVersion: 3,
      packages: { '': { name: 'subject' } },
    });
    const spec = await subject({ 'package.json': '{}', 'package-lock.json': lockfile }, {}, 'empty');
    const before = (await rig.leftovers()).volumes.filter((name) => name.includes('-dependencies-')).length;
    const workspace = await rig.sandbox.prepare(spec, signal);
    expect(workspace.dependenciesCached).toBe(true);
    const after = (await rig.leftovers()).volumes.filter((name) => name.includes('-dependencies-')).length;
    expect(after).toBe(before);
    await rig.sandbox.discard('empty');
  });

  it('fails with the output when the lockfile does not fit, and leaves nothing behind', async () => {
    const files = {
      'package.json': manifest({ dependencies: { 'left-test': '2.0.0' } }),
      'package-lock.json': npmLockfile(null),
    };
    const spec = await subject(files, {}, 'broken');
    const error = await rig.sandbox.prepare(spec, signal).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'INSTALL_FAILED', fault: 'user' });
    expect(String(error)).toContain('No matching version found for left-test@2.0.0');
    await rig.sandbox.discard('broken');
    expect((await rig.leftovers()).volumes.filter((name) => /-(workspace|layer)-/.test(name))).toEqual([]);
  });

  it('serves no package that the lockfile does not name, and says what it refused', async () => {
    const files = { 'package.json': manifest(), 'package-lock.json': npmLockfile(null) };
    const command = 'npm ci --ignore-scripts && npm view other-package version';
    const spec = await subject(files, { command }, 'stranger');
    await expect(rig.sandbox.prepare(spec, signal)).rejects.toMatchObject({
      code: 'INSTALL_FAILED',
      message: expect.stringContaining('other-package is not in the lockfile'),
    });
    await rig.sandbox.discard('stranger');
  });

  it('gives an install command neither a way to publish nor another network', async () => {
    const files = { 'package.json': manifest(), 'package-lock.json': npmLockfile(null) };
    const script = [
      'const show = (what) => (value) => console.log(what, value);',
      'const base = "http://127.0.0.1:3128/";',
      'const ask = (path, options) => fetch(base + path, options).then((r) => r.status, (e) => e.cause?.code);',
      'await ask("left-test", { method: "PUT", body: "{}" }).then(show("PUT"));',
      'await ask("-/npm/v1/security/audits", { method: "POST", body: "{}" }).then(show("POST"));',
      'await ask("-/whoami").then(show("whoami"));',
      'await ask("left-test/..%2f..%2fetc/passwd").then(show("dots"));',
      'await ask("left-test?leak=secret", { headers: { cookie: "c", authorization: "Bearer t" } }).then(show("query"));',
      'await fetch("http://1.1.1.1/").then((r) => r.status, (e) => e.cause?.code).then(show("direct"));',
    ].join('\n');
    const encoded = Buffer.from(script).toString('base64');
    const command = `echo ${encoded} | base64 -d > /tmp/x.mjs && node /tmp/x.mjs >&2; rm -f /run/egress/registry.sock; exit 9`;
    const spec = await subject(files, { command }, 'hostile');
    const error = String(await rig.sandbox.prepare(spec, signal).catch((thrown: unknown) => thrown));
    for (const line of [
      'PUT 405',
      'POST 405',
      'whoami 403',
      'dots 403',
      'query 200',
      'direct ENETUNREACH',
      'Read-only file system',
    ]) {
      expect(error).toContain(line);
    }
    const asked = registry.requests.at(-1);
    expect(asked?.url).toBe('/left-test');
    expect(JSON.stringify(asked?.headers)).not.toMatch(/cookie|Bearer/);
    await rig.sandbox.discard('hostile');
  });

  it('blames the registry, not the repository, when the registry is down', async () => {
    const files = { 'package.json': manifest(), 'package-lock.json': npmLockfile(null) };
    const spec = await subject(files, {}, 'down');
    const { dataDir } = rig;
    const sandbox = rig.restart({ registryUrl: 'http://127.0.0.1:9/', dataDir: `${dataDir}/other` });
    await expect(sandbox.prepare(spec, signal)).rejects.toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
      retryable: true,
    });
    await rig.sandbox.discard('down');
  });

  it('works through copies where the engine cannot mount overlay volumes', async () => {
    const files = { 'package.json': manifest(), 'package-lock.json': npmLockfile(null) };
    const spec = await subject(files, {}, 'copies');
    expect(await sh(spec, SHOW, rig.restart({ copyWorkspaces: true }))).toBe(
      'left right\nbuiltECONNREFUSEDfalse',
    );
    await rig.sandbox.discard('copies');
  });

  it('works with the registry that this machine is configured for', async () => {
    const lockfile = JSON.stringify({
      name: 'subject',
      version: '1.0.0',
      lockfileVersion: 3,
      packages: {
        '': { name: 'subject', version: '1.0.0', dependencies: { 'is-number': '7.0.0' } },
        'node_modules/is-number': {
          version: '7.0.0',
          integrity:
            'sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==',
        },
      },
    });
    const files = {
      'package.json': manifest({ dependencies: { 'is-number': '7.0.0' } }),
      'package-lock.json': lockfile,
    };
    const spec = await subject(files, {}, 'real');
    const sandbox = rig.restart({ registryUrl: await readRegistryUrl(process.env) });
    expect(await sh(spec, `node -p 'require("is-number")("7")'`, sandbox)).toBe('true\n');
    await rig.sandbox.discard('real');
  });
});
