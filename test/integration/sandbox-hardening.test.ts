/** What hostile commands get out of one hardened container, tried in a real engine. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CommandResult, SandboxCommand, Workspace } from '../../src/domain/sandbox.js';
import { createLocalRepository, type LocalRepository } from '../support/local-repository.js';
import { createSandboxRig, type SandboxRig } from '../support/sandbox-rig.js';

const MIB = 2 ** 20;
// Generous, since a busy machine is slow to start containers; what matters is bounded inside the tests.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const signal = new AbortController().signal;
let rig: SandboxRig;
let repository: LocalRepository;
let workspace: Workspace;

beforeAll(async () => {
  rig = createSandboxRig({
    limits: { pids: 64, floodBytes: 4 * MIB, fileBytes: 8 * MIB, tmpBytes: 16 * MIB },
  });
  repository = createLocalRepository('hardening', { 'a.txt': 'a\n' });
  const commit = repository.commit();
  await rig.mirror.fetch(repository.ref, commit, signal);
  const install = { packageManager: 'none', command: null } as const;
  workspace = await rig.sandbox.prepare(
    { run: 'hard', name: 'base', repository: repository.ref, baseCommit: commit, tree: null, install },
    signal,
  );
});

afterAll(async () => {
  await rig.close();
  repository.remove();
});

function run(script: string, options: Partial<SandboxCommand> = {}): Promise<CommandResult> {
  return rig.sandbox.run(workspace, { argv: ['bash', '-c', script], timeoutMs: 20_000, ...options }, signal);
}

describe('a hardened container', () => {
  it('runs as an unprivileged user without capabilities, new privileges or set-uid programs', async () => {
    const { stdout } = await run(
      'id -u; grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status; find / -xdev -perm /6000 -type f 2>/dev/null | wc -l',
    );
    const lines = stdout.text.trim().split('\n');
    expect(lines[0]).toBe('10001');
    const capabilities = lines.filter((line) => line.startsWith('Cap'));
    expect(capabilities).toHaveLength(5);
    for (const line of capabilities) expect(line).toMatch(/\t0{16}$/);
    expect(lines).toContain('NoNewPrivs:\t1');
    expect(lines).toContain('Seccomp:\t2');
    expect(lines.at(-1)).toBe('0');
  });

  it('cannot write outside the workspace and the temporary directory', async () => {
    const { stdout } = await run(
      'for d in / /etc /usr/bin /opt/hasten /run /dev/shm /ws /tmp; do touch $d/x 2>/dev/null && echo "$d yes" || echo "$d no"; done',
    );
    expect(stdout.text.trim().split('\n')).toEqual([
      '/ no',
      '/etc no',
      '/usr/bin no',
      '/opt/hasten no',
      '/run no',
      '/dev/shm yes',
      '/ws yes',
      '/tmp yes',
    ]);
  });

  it('has no network, no name resolution and no engine socket', async () => {
    const { stdout } = await run(`node -e '
      const net = require("node:net"), dns = require("node:dns"), fs = require("node:fs");
      const tryPort = (host, port) => new Promise((done) => net.connect({ host, port, timeout: 2000 })
        .on("connect", () => done("open")).on("error", (e) => done(e.code)).on("timeout", () => done("timeout")));
      (async () => {
        for (const [h, p] of [["1.1.1.1", 53], ["169.254.169.254", 80], ["172.17.0.1", 22]]) console.log(h, await tryPort(h, p));
        console.log("dns", await new Promise((d) => dns.lookup("example.com", (e) => d(e ? e.code : "found"))));
        console.log("interfaces", Object.keys(require("node:os").networkInterfaces()).join());
        console.log("socket", fs.existsSync("/var/run/docker.sock"), fs.existsSync("/run/egress/registry.sock"));
      })()'`);
    expect(stdout.text.trim().split('\n')).toEqual([
      '1.1.1.1 ENETUNREACH',
      '169.254.169.254 ENETUNREACH',
      '172.17.0.1 ENETUNREACH',
      'dns EAI_AGAIN',
      'interfaces lo',
      'socket false false',
    ]);
  });

  it('is refused the system calls that lead to the kernel', async () => {
    const { stdout } = await run(
      `python3 - <<'PY'
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
calls = {'io_uring_setup': (425, 1, 0), 'io_uring_enter': (426, 0, 0), 'io_uring_register': (427, 0, 0), 'keyctl': (250, 0, 0),
         'bpf': (321, 0, 0), 'userfaultfd': (323, 0, 0), 'unshare': (272, 0x10000000, 0), 'mount': (165, 0, 0), 'setns': (308, 0, 0)}
for name, (number, a, b) in calls.items():
    result = libc.syscall(number, a, b, 0, 0, 0)
    print(name, result, errno.errorcode.get(ctypes.get_errno()))
PY`,
    );
    const lines = stdout.text.trim().split('\n');
    expect(lines).toHaveLength(9);
    for (const line of lines) expect(line).toMatch(/ -1 EPERM$/);
  });

  it('contains a fork bomb, and the next command finds a working engine', async () => {
    const bomb = await run('bomb() { bomb | bomb & }; bomb; sleep 30', { timeoutMs: 3000 });
    expect(bomb.outcome).toBe('timed-out');
    expect(bomb.wallMs).toBeLessThan(10_000);
    expect((await run('echo fine')).stdout.text).toBe('fine\n');
  });

  it('reports a memory hog as out of memory', async () => {
    const result = await run('exec node -e "const a = []; for (;;) a.push(Buffer.alloc(4e6, 1))"', {
      memoryBytes: 96 * MIB,
    });
    expect(result.outcome).toBe('out-of-memory');
    expect(result.exitCode).toBeNull();
  });

  it('reports out of memory also when only a child died and the command itself exits 0', async () => {
    const result = await run(
      'node -e "const a = []; for (;;) a.push(Buffer.alloc(4e6, 1))"; echo "child $?"; exit 0',
      {
        memoryBytes: 96 * MIB,
      },
    );
    expect(result.stdout.text).toContain('child 137');
    expect(result.outcome).toBe('out-of-memory');
  });

  it('reports the heap limit of V8 as out of memory', async () => {
    const result = await run(
      'exec node --max-old-space-size=32 -e "const a = []; for (;;) a.push([1, 2, 3, {}])"',
    );
    expect(result.outcome).toBe('out-of-memory');
  });

  it('stops a file at the size limit and the temporary directory at its own', async () => {
    const { stdout } = await run(
      'head -c 9000000 /dev/zero > /ws/big; echo "file $(stat -c %s /ws/big)"; rm /ws/big; ' +
        'for i in 1 2 3; do head -c 7000000 /dev/zero > /tmp/$i; done 2>/dev/null; echo "tmp $(du -sb /tmp | cut -f1)"',
    );
    expect(stdout.text).toContain(`file ${8 * MIB}\n`);
    expect(Number(/tmp (\d+)/.exec(stdout.text)?.[1])).toBeLessThanOrEqual(16 * MIB);
  });

  it('is killed at a flood of output, with head and tail kept', async () => {
    const before = process.memoryUsage().rss;
    const result = await run('echo first; exec yes', { outputBytes: 8192 });
    expect(result.outcome).toBe('flooded');
    expect(result.exitCode).toBeNull();
    expect(result.stdout.text.startsWith('first\n')).toBe(true);
    expect(result.stdout.totalBytes).toBeGreaterThan(4 * MIB);
    expect(result.stdout.text.length).toBeLessThan(8400);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * MIB);
  });

  it('is killed at its deadline although it ignores signals and detached its children', async () => {
    const result = await run(
      'trap "" TERM INT HUP; setsid nohup bash -c "trap \\"\\" TERM; while :; do :; done" & while :; do sleep 1; done',
      { timeoutMs: 1500 },
    );
    expect(result.outcome).toBe('timed-out');
    expect(result.wallMs).toBeLessThan(6000);
    expect((await rig.leftovers()).containers).toEqual([]);
  });

  it('is killed and removed at once when the caller aborts', async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error('stop now')), 700);
    const started = Date.now();
    await expect(
      rig.sandbox.run(workspace, { argv: ['sleep', '60'], timeoutMs: 60_000 }, abort.signal),
    ).rejects.toThrow('stop now');
    expect(Date.now() - started).toBeLessThan(6000);
    expect((await rig.leftovers()).containers).toEqual([]);
  });

  it('gives exit code, both streams, stdin, directory and environment of an ordinary command', async () => {
    const result = await run('mkdir -p sub; exit 0');
    expect(result).toMatchObject({ outcome: 'exited', exitCode: 0 });
    const second = await run('pwd; cat; echo "$GREETING" >&2; exit 3', {
      cwd: 'sub',
      stdin: 'through stdin\n',
      env: { GREETING: 'hello; $(id)' },
    });
    expect(second.outcome).toBe('exited');
    expect(second.exitCode).toBe(3);
    expect(second.stdout.text).toBe('/ws/sub\nthrough stdin\n');
    expect(second.stderr.text).toBe('hello; $(id)\n');
  });

  it('reaches itself by the name localhost, as test runners and servers in tests need', async () => {
    const { stdout } = await run(`hostname; node -e '
      const server = require("node:http").createServer((_, response) => response.end("answer\\n"));
      server.listen(0, "localhost", () =>
        fetch("http://localhost:" + server.address().port).then((r) => r.text()).then((text) => { console.log(text); server.close(); }))'`);
    expect(stdout.text).toBe('sandbox\nanswer\n\n');
  });

  it('does not see the environment of the service', async () => {
    process.env.HASTEN_TEST_CANARY = 'canary-4711';
    const { stdout } = await run('env; cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"');
    expect(stdout.text).not.toContain('canary-4711');
  });

  it('follows no link of the workspace when it changes into a directory', async () => {
    await run('ln -s /proc/self/fd escape; ln -s / root');
    const { stdout } = await run('pwd -P; touch x 2>&1 || true', { cwd: 'root' });
    expect(stdout.text).toMatch(/^\/\n.*Read-only file system/);
  });

  it('cannot write a workspace that is mounted read-only', async () => {
    const result = await run('echo x > a.txt', { readOnlyWorkspace: true });
    expect(result.exitCode).not.toBe(0);
    expect(result.stderr.text).toContain('Read-only file system');
  });

  it('refuses directories outside the workspace before anything runs', async () => {
    await expect(run('pwd', { cwd: '../etc' })).rejects.toMatchObject({ code: 'CWD_OUTSIDE_WORKSPACE' });
  });
});
