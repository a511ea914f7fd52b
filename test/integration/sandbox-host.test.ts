import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { MeasurementArm } from '../../src/domain/sandbox.js';
import { createGitMirror } from '../../src/sandbox/git-mirror.js';
import { createHostArm } from '../../src/sandbox/host-arm.js';
import { parseProcessGroups, parseProcessStat } from '../../src/sandbox/host-leftovers.js';
import { createHostSandbox } from '../../src/sandbox/host-sandbox.js';
import { createLocalRepository } from '../support/local-repository.js';

const closers: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function folder(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'hasten-host-')));
  closers.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function openArm(signal = new AbortController().signal): MeasurementArm {
  const arm = createHostArm({ workspace: folder(), harness: '/nowhere', pinning: [], signal });
  closers.push(() => arm.close());
  return arm;
}

/** A zombie is dead, whenever its new parent looks after it. */
function isAlive(id: number): boolean {
  try {
    return parseProcessStat(readFileSync(`/proc/${id}/stat`, 'utf8'))?.isZombie === false;
  } catch {
    return false;
  }
}

const sh = (script: string) => ['sh', '-c', script];

describe('an arm on the host', () => {
  it('runs a program in the workspace with input, output and exit code', async () => {
    const arm = openArm();
    const result = await arm.exec(sh('pwd; cat; echo no >&2; exit 3'), { timeoutMs: 10_000, stdin: 'in' });
    expect(result).toMatchObject({
      outcome: 'exited',
      exitCode: 3,
      stdout: { text: `${arm.paths.workspace}\nin` },
      stderr: { text: 'no\n' },
    });
    expect(await arm.cpuMicros()).toBeNull();
    expect(await arm.leftoverProcesses()).toBe(0);
  });

  it('counts what a program left running, also in a session of its own, and kills it when it is closed', async () => {
    const arm = openArm();
    const script = 'sleep 60 >/dev/null 2>&1 & echo $!; setsid sleep 61 >/dev/null 2>&1 & echo $!';
    const { stdout } = await arm.exec(sh(script), { timeoutMs: 10_000 });
    const left = stdout.text.trim().split('\n').map(Number);
    expect(left).toHaveLength(2);
    expect(await arm.leftoverProcesses()).toBe(2);
    await arm.close();
    await expect.poll(() => left.filter(isAlive)).toEqual([]);
  });

  it('kills a program with everything it started at the deadline, and is gone then', async () => {
    const arm = openArm();
    const result = await arm.exec(sh('sleep 60 & echo $!; wait'), { timeoutMs: 500 });
    expect(result).toMatchObject({ outcome: 'timed-out', exitCode: null });
    await expect.poll(() => isAlive(Number(result.stdout.text))).toBe(false);
    await expect(arm.exec(sh('true'), { timeoutMs: 500 })).rejects.toMatchObject({ code: 'ARM_GONE' });
  });

  it('kills a program when the comparison is stopped', async () => {
    const stop = new AbortController();
    const arm = openArm(stop.signal);
    const started = Date.now();
    const running = arm.exec(sh('sleep 60'), { timeoutMs: 60_000 });
    setTimeout(() => stop.abort(new Error('stopped')), 200);
    await expect(running).rejects.toThrow('stopped');
    expect(Date.now() - started).toBeLessThan(10_000);
  });

  it('says what is missing when there is no such program', async () => {
    await expect(openArm().exec(['no-such-program-here'], { timeoutMs: 1000 })).rejects.toThrow(
      /no-such-program-here could not be started.*installed and on PATH/,
    );
  });
});

describe('the sandbox port on the host', () => {
  it('lays a commit out with our files over it, once per side, and removes everything', async () => {
    const repository = createLocalRepository('host-subject', { 'a.txt': 'of the tree', 'b/c.txt': 'deep' });
    closers.push(() => repository.remove());
    const commit = repository.commit();
    const mirror = createGitMirror({ dataDir: folder(), credentials: { tokenFor: async () => null } });
    const { signal } = new AbortController();
    await mirror.fetch(repository.ref, commit, signal);
    const directory = join(folder(), 'sides');
    const sandbox = await createHostSandbox({ directory, mirror });
    const spec = {
      run: 'r',
      repository: repository.ref,
      baseCommit: commit,
      tree: null,
      install: { packageManager: 'none', command: null } as const,
      overlay: new Map([['.hasten/benchmark.mjs', 'laid over']]),
    };
    const base = await sandbox.prepare({ ...spec, name: 'base' }, signal);
    const copy = await sandbox.prepare({ ...spec, name: 'copy' }, signal);
    expect(await sandbox.prepare({ ...spec, name: 'base' }, signal)).toEqual(base);
    expect(copy.ref).not.toBe(base.ref);
    const argv = ['cat', 'a.txt', 'b/c.txt', '.hasten/benchmark.mjs'];
    const shown = await sandbox.run(copy, { argv, timeoutMs: 10_000 }, signal);
    expect(shown.stdout.text).toBe('of the treedeeplaid over');
    await sandbox.discard('r');
    expect(existsSync(directory)).toBe(false);
  });
});

describe('what the kernel and ps say of processes', () => {
  it('reads session and state past a name with brackets', () => {
    expect(parseProcessStat('42 (a) b (c) S 1 40 39 0 -1')).toEqual({ session: 39, isZombie: false });
    expect(parseProcessStat('42 (x) Z 1 40 39 0')).toEqual({ session: 39, isZombie: true });
    expect(parseProcessStat('')).toBeNull();
  });

  it('takes the live processes of the groups asked for', () => {
    const listed = '  10   10 S\n  11   10 Z+\n  12   10 R\n  13   13 S\n';
    expect(parseProcessGroups(listed, new Set([10]))).toEqual([10, 12]);
  });
});
