/** Measurement arms and the reaper in a real engine. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Workspace, WorkspaceSpec } from '../../src/domain/sandbox.js';
import { createLocalRepository, type LocalRepository } from '../support/local-repository.js';
import { createSandboxRig, type SandboxRig } from '../support/sandbox-rig.js';

// Generous, since a busy machine is slow to start containers; what matters is bounded inside the tests.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const signal = new AbortController().signal;
let rig: SandboxRig;
let repository: LocalRepository;
let spec: WorkspaceSpec;
let workspace: Workspace;

beforeAll(async () => {
  rig = createSandboxRig({ limits: { floodBytes: 2 ** 20 } });
  repository = createLocalRepository('arms', { 'a.txt': 'a\n' });
  const baseCommit = repository.commit();
  await rig.mirror.fetch(repository.ref, baseCommit, signal);
  const install = { packageManager: 'none', command: null } as const;
  spec = { run: 'arms', name: 'base', repository: repository.ref, baseCommit, tree: null, install };
  workspace = await rig.sandbox.prepare(spec, signal);
});

afterAll(async () => {
  await rig.close();
  repository.remove();
});

describe('a measurement arm', () => {
  it('runs fresh processes in one pinned, read-only container and books their CPU time', async () => {
    const cpuset = rig.sandbox.measurementCpuset();
    const arm = await rig.sandbox.openArm(workspace, { cpuset }, signal);
    try {
      const first = await arm.exec(['bash', '-c', 'nproc; cat; cat a.txt; echo x > a.txt; exit 4'], {
        timeoutMs: 10_000,
        stdin: 'from stdin\n',
      });
      expect(first).toMatchObject({ outcome: 'exited', exitCode: 4 });
      expect(first.stdout.text).toBe('1\nfrom stdin\na\n');
      expect(first.stderr.text).toContain('Read-only file system');
      const before = (await arm.cpuMicros()) ?? Number.NaN;
      await arm.exec(
        ['node', '-e', 'const end = process.cpuUsage().user + 3e5; while (process.cpuUsage().user < end);'],
        {
          timeoutMs: 20_000,
        },
      );
      const spent = ((await arm.cpuMicros()) ?? Number.NaN) - before;
      expect(spent).toBeGreaterThan(300_000);
      expect(spent).toBeLessThan(3_000_000);
      expect(await arm.leftoverProcesses()).toBe(0);
    } finally {
      await arm.close();
    }
    expect((await rig.leftovers()).containers).toEqual([]);
  });

  it('sees processes that a program left behind, and does not wait for them', async () => {
    const arm = await rig.sandbox.openArm(workspace, { cpuset: '0' }, signal);
    try {
      const started = Date.now();
      const result = await arm.exec(['bash', '-c', 'sleep 77 & sleep 78 & echo done'], { timeoutMs: 20_000 });
      expect(result).toMatchObject({ outcome: 'exited', exitCode: 0 });
      expect(result.stdout.text).toBe('done\n');
      expect(Date.now() - started).toBeLessThan(10_000);
      expect(await arm.leftoverProcesses()).toBe(2);
    } finally {
      await arm.close();
    }
  });

  it('is gone after a deadline, and says so', async () => {
    const arm = await rig.sandbox.openArm(workspace, { cpuset: '0' }, signal);
    try {
      const late = await arm.exec(['bash', '-c', 'trap "" TERM; while :; do sleep 1; done'], {
        timeoutMs: 600,
      });
      expect(late.outcome).toBe('timed-out');
      await expect(arm.exec(['true'], { timeoutMs: 1000 })).rejects.toMatchObject({ code: 'ARM_GONE' });
    } finally {
      await arm.close();
      await arm.close();
    }
  });

  it('is gone after a flood and after an abort', async () => {
    const abort = new AbortController();
    const arm = await rig.sandbox.openArm(workspace, { cpuset: '0' }, abort.signal);
    expect((await arm.exec(['yes'], { timeoutMs: 20_000 })).outcome).toBe('flooded');
    await arm.close();
    const second = await rig.sandbox.openArm(workspace, { cpuset: '0' }, abort.signal);
    setTimeout(() => abort.abort(new Error('cancelled')), 300);
    await expect(second.exec(['sleep', '60'], { timeoutMs: 60_000 })).rejects.toThrow('cancelled');
    await second.close();
    expect((await rig.leftovers()).containers).toEqual([]);
  });

  it('does not hold a slot while it rests, so that three arms and a command go on with one slot', async () => {
    const narrow = rig.restart({ limits: { containers: 1 } });
    const arms = [];
    try {
      for (let i = 0; i < 3; i += 1) arms.push(await narrow.openArm(workspace, { cpuset: '0' }, signal));
      const results = await Promise.all([
        ...arms.map((arm) => arm.exec(['echo', 'x'], { timeoutMs: 10_000 })),
        narrow.run(workspace, { argv: ['echo', 'y'], timeoutMs: 10_000 }, signal),
      ]);
      expect(results.map((result) => result.exitCode)).toEqual([0, 0, 0, 0]);
    } finally {
      for (const arm of arms) await arm.close();
    }
  });
});

describe('the reaper', () => {
  const create = async (labels: Record<string, string>) => {
    const container = await rig.docker.createContainer({
      Image: 'hasten-sandbox:latest',
      Cmd: ['sleep', '300'],
      Labels: labels,
      HostConfig: { NetworkMode: 'none' },
    });
    await container.start();
    return container;
  };

  it('removes what a killed service left, keeps active runs, caches and what belongs to others', async () => {
    const own = await create({ 'hasten.owner': rig.owner, 'hasten.run': 'dead' });
    const foreign = await create({
      'hasten.owner': 'test-somebody-else',
      'hasten.deadline': String(Date.now() + 60_000),
    });
    const overdue = await create({
      'hasten.owner': 'test-somebody-else',
      'hasten.deadline': String(Date.now() - 1000),
    });
    const unlabelled = await create({ 'hasten.test': rig.owner });
    try {
      const active = await rig.sandbox.prepare({ ...spec, run: 'active' }, signal);
      const dead = await rig.sandbox.prepare({ ...spec, run: 'dead' }, signal);
      const restarted = rig.restart();
      expect(await restarted.reap(['active', 'arms'])).toBeGreaterThanOrEqual(4);
      await expect(own.inspect()).rejects.toMatchObject({ statusCode: 404 });
      await expect(overdue.inspect()).rejects.toMatchObject({ statusCode: 404 });
      expect((await foreign.inspect()).State.Running).toBe(true);
      expect((await unlabelled.inspect()).State.Running).toBe(true);
      const { volumes } = await rig.leftovers();
      expect(volumes).toContain(active.ref);
      expect(volumes).not.toContain(dead.ref);
      expect(volumes.some((name) => name.includes('-tree-'))).toBe(true);
      expect(await restarted.reap(['active', 'arms'])).toBe(0);
    } finally {
      for (const container of [own, foreign, overdue, unlabelled]) {
        await container.remove({ force: true }).catch(() => {});
      }
    }
  });

  it('discards one run alone, and again without complaint', async () => {
    const one = await rig.sandbox.prepare({ ...spec, run: 'one' }, signal);
    const two = await rig.sandbox.prepare({ ...spec, run: 'two' }, signal);
    await rig.sandbox.discard('one');
    await rig.sandbox.discard('one');
    const { volumes } = await rig.leftovers();
    expect(volumes).not.toContain(one.ref);
    expect(volumes).toContain(two.ref);
    await rig.sandbox.discard('two');
  });

  it('purges an installation that is thrown away, caches too, and nothing of another one', async () => {
    const other = createSandboxRig();
    try {
      await other.mirror.fetch(repository.ref, spec.baseCommit, signal);
      await other.sandbox.prepare(spec, signal);
      expect(await other.sandbox.purge()).toBe(3);
      expect(await other.leftovers()).toEqual({ containers: [], volumes: [] });
      expect((await rig.leftovers()).volumes).toContain(workspace.ref);
    } finally {
      await other.close();
    }
  });
});
