import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { containerSettings, DEFAULT_LIMITS, volumeMount } from '../../src/sandbox/container-settings.js';
import { exitVerdict } from '../../src/sandbox/container-watch.js';
import { cpuTimeFiles, parseCpuMicros } from '../../src/sandbox/cpu-time.js';
import { engineError } from '../../src/sandbox/engine-errors.js';
import { directoriesOf } from '../../src/sandbox/file-drop.js';
import { gitEnvironment } from '../../src/sandbox/git-configuration.js';
import { checkedUrl, fetchEnvironment } from '../../src/sandbox/git-fetch.js';
import { isSafePath, parseChanges } from '../../src/sandbox/git-patch.js';
import { createNaming, dockerName } from '../../src/sandbox/names.js';

const PLAN = {
  name: 'n',
  image: 'i',
  runtime: 'runc',
  seccomp: '{}',
  labels: {},
  argv: ['true'],
  env: {},
  mounts: [volumeMount('v', '/ws')],
  memoryBytes: 1000,
  cpuset: null,
  stdin: false,
};

describe("a container's settings", () => {
  it('adapt to the cgroup version and never ask for more CPUs than there are', () => {
    const one = containerSettings(PLAN, DEFAULT_LIMITS, { cgroupVersion: 1, cpus: 1 }).HostConfig;
    expect(one).toMatchObject({
      MemorySwappiness: 0,
      NanoCpus: 1e9,
      Memory: 1000,
      MemorySwap: 1000,
      NetworkMode: 'none',
    });
    const two = containerSettings(PLAN, DEFAULT_LIMITS, { cgroupVersion: 2, cpus: 8 }).HostConfig;
    expect(two).not.toHaveProperty('MemorySwappiness');
    expect(two).toMatchObject({
      NanoCpus: 2e9,
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      LogConfig: { Type: 'none' },
    });
    const pinned = containerSettings({ ...PLAN, cpuset: '1' }, DEFAULT_LIMITS, {
      cgroupVersion: 2,
      cpus: 8,
    }).HostConfig;
    expect(pinned).toMatchObject({ CpusetCpus: '1' });
    expect(pinned).not.toHaveProperty('NanoCpus');
  });

  it('come with a seccomp profile that is a deny list by default and knows no io_uring', () => {
    const profile: { defaultAction: string; syscalls: { names: string[]; action: string }[] } = JSON.parse(
      readFileSync(new URL('../../sandbox/seccomp.json', import.meta.url), 'utf8'),
    );
    expect(profile.defaultAction).toBe('SCMP_ACT_ERRNO');
    const names = profile.syscalls.flatMap((rule) => rule.names);
    expect(names.length).toBeGreaterThan(300);
    expect(names.filter((name) => name.startsWith('io_uring'))).toEqual([]);
  });
});

describe('names', () => {
  it('hold no colon, tell owners apart and stay the same', () => {
    expect(dockerName('run:3:1:evaluate/x')).toBe('run-3-1-evaluate-x');
    const one = createNaming('one');
    expect(one.volume('tree', 'a', 'b')).toBe(createNaming('one').volume('tree', 'a', 'b'));
    expect(one.volume('tree', 'a', 'b')).not.toBe(one.volume('tree', 'ab', ''));
    expect(one.volume('tree', 'a')).not.toBe(createNaming('two').volume('tree', 'a'));
    expect(one.container('r:1', 'base', 2)).toMatch(/^hasten-[0-9a-f]{8}-r-1-base-2$/);
  });
});

describe('verdicts and errors', () => {
  it('put lack of memory before the exit code', () => {
    expect(exitVerdict(0, true, '')).toEqual({ outcome: 'out-of-memory', exitCode: null });
    expect(exitVerdict(134, false, 'FATAL ERROR: … JavaScript heap out of memory')).toMatchObject({
      outcome: 'out-of-memory',
    });
    expect(exitVerdict(134, false, 'assertion failed')).toEqual({ outcome: 'exited', exitCode: 134 });
    expect(exitVerdict(1, false, 'heap out of memory')).toEqual({ outcome: 'exited', exitCode: 1 });
  });

  it('tell an absent engine from one that refuses, and from a missing image', () => {
    const away = Object.assign(new Error('connect ENOENT /var/run/docker.sock'), { code: 'ENOENT' });
    expect(engineError(away, 'x')).toMatchObject({ code: 'DOCKER_UNAVAILABLE', retryable: true });
    const refused = (statusCode: number, message: string) =>
      engineError(Object.assign(new Error(message), { statusCode }), 'x');
    expect(refused(404, 'No such image: a')).toMatchObject({ code: 'SANDBOX_IMAGE_MISSING', fault: 'user' });
    expect(refused(400, 'Unknown runtime specified kata')).toMatchObject({ code: 'SANDBOX_RUNTIME_UNKNOWN' });
    expect(refused(500, 'boom')).toMatchObject({ code: 'DOCKER_REFUSED', retryable: true });
    expect(engineError(new TypeError('bug'), 'x')).toBeInstanceOf(TypeError);
  });

  it('read CPU time of both cgroup versions', () => {
    expect(parseCpuMicros('1234567\n')).toBe(1235);
    expect(parseCpuMicros('usage_usec 42\nuser_usec 40\n')).toBe(42);
    expect(parseCpuMicros('nonsense')).toBeNull();
    expect(cpuTimeFiles('id')).toContain('/sys/fs/cgroup/system.slice/docker-id.scope/cpu.stat');
  });
});

describe('git calls', () => {
  it('get no variable of the service but those for TLS and proxies', () => {
    const environment = gitEnvironment('/c', {
      PATH: '/bin',
      GITHUB_TOKEN: 's',
      GIT_DIR: '/x',
      GIT_SSL_CAINFO: '/ca',
      https_proxy: 'p',
    });
    expect(environment).toMatchObject({
      PATH: '/bin',
      GIT_SSL_CAINFO: '/ca',
      https_proxy: 'p',
      GIT_TERMINAL_PROMPT: '0',
    });
    expect(environment).not.toHaveProperty('GITHUB_TOKEN');
    expect(environment).not.toHaveProperty('GIT_DIR');
  });

  it('carry the token for one origin only', () => {
    expect(fetchEnvironment('https://host.invalid:8443/a/b.git', 't')).toMatchObject({
      GIT_CONFIG_KEY_0: 'http.https://host.invalid:8443/.extraHeader',
    });
    expect(fetchEnvironment('https://host.invalid/a', null)).toEqual({});
    expect(fetchEnvironment('/local', 't')).toEqual({ GIT_ALLOW_PROTOCOL: 'file' });
    expect(() => checkedUrl('https://a:b@host.invalid/')).toThrow(/without credentials/);
  });

  it('judge paths', () => {
    for (const path of ['a', 'a/b.c', '.github/x', '.gitignore', 'a/..b', 'git', '.gitx'])
      expect(isSafePath(path), path).toBe(true);
    for (const path of [
      '',
      '/a',
      'a//b',
      'a/',
      './a',
      '..',
      'a/..',
      '.git',
      'a/.GIT/b',
      'git~1',
      '.git ',
      '.git::$INDEX',
      'a\0b',
    ]) {
      expect(isSafePath(path), path).toBe(false);
    }
  });

  it('read the changes of names with tabs, newlines and colons', () => {
    const [zero, a, b] = ['0', 'a', 'b'].map((digit) => digit.repeat(40));
    const odd = ':odd\tname\nnext';
    const output = `:100644 100644 ${a} ${b} M\0${odd}\0:000000 120000 ${zero} ${b} A\0l\0${'1\t2\t'}${odd}\0-\t-\tl\0`;
    const { raw, counts } = parseChanges(output);
    expect(raw).toMatchObject([
      { path: odd, status: 'modified', newSha: b },
      { path: 'l', status: 'added', oldMode: null, newMode: '120000' },
    ]);
    expect(counts.get(odd)).toEqual({ additions: 1, deletions: 2, binary: false });
    expect(counts.get('l')).toEqual({ additions: 0, deletions: 0, binary: true });
  });

  it('make parents of files that are put into a volume', () => {
    expect(
      directoriesOf(
        new Map([
          ['upper', null],
          ['upper/a/b.txt', 'x'],
        ]),
      ),
    ).toEqual(['upper/', 'upper/a/']);
  });
});
