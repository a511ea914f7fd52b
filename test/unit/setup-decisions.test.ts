// What set-up decides before it does anything: install or not, which engine, which processor, how many tests ran.
import { mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { contentHash } from '../../scripts/setup/content-hash.mjs';
import { whyInstall } from '../../scripts/setup/dependencies.mjs';
import { dockerHost, engineAddress } from '../../scripts/setup/engine-address.mjs';
import { enabledControllers, hasControlGroups } from '../../scripts/setup/engine-cgroups.mjs';
import { npmCpu } from '../../scripts/setup/image-toolchain.mjs';
import { readCounts } from '../../scripts/test-counts.mjs';

describe('whether packages are installed', () => {
  const wanted = {
    packages: {
      '': { version: '1.0.0' },
      'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
      'node_modules/b': { version: '2.0.0', integrity: 'sha512-b', optional: true },
    },
  };
  const a = { version: '1.0.0', integrity: 'sha512-a' };

  test('nothing is installed when both lists agree, an optional package of another system left out', () => {
    expect(whyInstall(wanted, { packages: { 'node_modules/a': a } })).toBeUndefined();
  });

  test.each([
    ['there is no record of an install', undefined, 'never finished'],
    ['a package is missing', { packages: {} }, 'node_modules/a is missing'],
    [
      'a version differs',
      { packages: { 'node_modules/a': { ...a, version: '0.9.0' } } },
      'node_modules/a is 0.9.0, not 1.0.0',
    ],
    [
      'contents differ under one version',
      { packages: { 'node_modules/a': { ...a, integrity: 'sha512-x' } } },
      'other contents',
    ],
    [
      'a package is there that the lockfile dropped',
      { packages: { 'node_modules/a': a, 'node_modules/z': a } },
      'node_modules/z is not in the lockfile',
    ],
  ])('packages are installed when %s', (_when, installed, reason) => {
    expect(whyInstall(wanted, installed)).toContain(reason);
  });

  test('a checkout without a lockfile is refused with a sentence', () => {
    expect(() => whyInstall(undefined, undefined)).toThrow('package-lock.json is missing');
  });
});

describe('the hash of contents', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'hasten-hash-'));
    mkdirSync(join(root, 'folder'));
    writeFileSync(join(root, 'folder', 'file'), 'text');
    writeFileSync(join(root, 'top'), 'more');
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const hash = () => contentHash(root, ['folder', 'top']);

  test('does not depend on times and on the order of the entries', () => {
    const before = hash();
    utimesSync(join(root, 'top'), 1, 1);
    expect(hash()).toBe(before);
    expect(contentHash(root, ['top', 'folder'])).toBe(before);
  });

  test('changes with a content, a name, a new file and the salt', () => {
    const seen = new Set([hash(), contentHash(root, ['folder', 'top'], { salt: 'x' })]);
    writeFileSync(join(root, 'top'), 'less');
    seen.add(hash());
    renameSync(join(root, 'folder', 'file'), join(root, 'folder', 'renamed'));
    seen.add(hash());
    writeFileSync(join(root, 'folder', 'new'), '');
    seen.add(hash());
    expect(seen.size).toBe(5);
  });

  test('leaves installed packages out and takes a missing entry for empty', () => {
    const before = hash();
    mkdirSync(join(root, 'folder', 'node_modules'));
    writeFileSync(join(root, 'folder', 'node_modules', 'file'), 'text');
    expect(hash()).toBe(before);
    expect(contentHash(root, ['folder', 'top', 'absent'])).toBe(before);
  });
});

describe('the engine’s address', () => {
  test.each([
    [{}, { kind: 'socket', path: '/var/run/docker.sock' }],
    [{ DOCKER_HOST: '' }, { kind: 'socket', path: '/var/run/docker.sock' }],
    [
      { DOCKER_HOST: 'unix:///run/user/1000/docker.sock' },
      { kind: 'socket', path: '/run/user/1000/docker.sock' },
    ],
    [{ DOCKER_HOST: 'tcp://10.0.0.1:2376' }, { kind: 'http', host: '10.0.0.1', port: 2376 }],
    [{ DOCKER_HOST: 'tcp://host' }, { kind: 'http', host: 'host', port: 2375 }],
    [{ DOCKER_HOST: 'tcp://[::1]:99' }, { kind: 'http', host: '::1', port: 99 }],
    [
      { DOCKER_HOST: 'tcp://h:1', DOCKER_TLS_VERIFY: '1' },
      { kind: 'other', url: 'tcp://h:1' },
    ],
    [{ DOCKER_HOST: 'ssh://me@host' }, { kind: 'other', url: 'ssh://me@host' }],
  ])('of %o is %o', (env, address) => {
    expect(engineAddress(env)).toEqual(address);
  });

  test('written out again names the same engine', () => {
    const port = fc.integer({ min: 1, max: 65_535 });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.domain(),
          fc.ipV4(),
          fc.ipV6().map((ip) => `[${ip}]`),
        ),
        port,
        (host, number) => {
          const url = `tcp://${host}:${number}`;
          expect(dockerHost(engineAddress({ DOCKER_HOST: url }))).toBe(url);
        },
      ),
    );
  });
});

describe('control groups', () => {
  test('are there in version 1, in version 2, and not with an empty folder or the service tree alone', () => {
    expect(hasControlGroups('cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n')).toBe(true);
    expect(hasControlGroups('none /sys/fs/cgroup cgroup2 rw 0 0\n')).toBe(true);
    expect(hasControlGroups('tmpfs /sys/fs/cgroup tmpfs rw 0 0\n')).toBe(false);
    expect(hasControlGroups('cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n')).toBe(false);
  });

  test('of the kernel’s table only the enabled ones are mounted', () => {
    const table =
      '#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t3\t1\nmemory\t0\t1\t0\npids\t2\t1\t1\n';
    expect(enabledControllers(table)).toEqual(['cpu', 'pids']);
  });
});

test('the image is made for the engine’s processor, or refused by name', () => {
  expect(npmCpu('amd64')).toBe('x64');
  expect(npmCpu('aarch64')).toBe('arm64');
  expect(() => npmCpu('riscv64')).toThrow('riscv64');
});

describe('the count of tests', () => {
  test('adds up the closing lines of several runs, in colour or not', () => {
    const output = [
      ' Test Files  2 passed (2)',
      '      Tests  12 passed (12)',
      'and later',
      '\u001b[2m      Tests \u001b[22m \u001b[31m1 failed\u001b[39m | \u001b[32m3 passed\u001b[39m | 2 skipped | 1 todo (7)',
    ].join('\n');
    expect(readCounts(output)).toEqual({ passed: 15, failed: 1, skipped: 3 });
  });

  test('is nothing where no test ran', () => {
    expect(readCounts('No test files found, exiting with code 1\n Tests  no tests\n')).toEqual({
      passed: 0,
      failed: 0,
      skipped: 0,
    });
  });
});
