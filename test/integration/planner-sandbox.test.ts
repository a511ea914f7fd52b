import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { editTools } from '../../src/planner/edit-tools.js';
import { restoreDiff, takeDiff } from '../../src/planner/edited-workspace.js';
import { readTools } from '../../src/planner/read-tools.js';
import type { Tool } from '../../src/planner/tool.js';
import { createWorkspaceShell, type WorkspaceShell } from '../../src/planner/workspace-shell.js';
import { type DockerRig, dockerRig } from '../support/planner-fakes/docker-rig.js';

const never = new AbortController().signal;

let rig: DockerRig;
let shell: WorkspaceShell;
let tools: readonly Tool[];

beforeAll(async () => {
  rig = dockerRig({
    files: {
      'package.json': '{"name":"subject","version":"1.0.0","type":"module"}\n',
      'src/sum.js': 'export const sum = (list) => list.reduce((a, b) => a + b, 0);\n',
      'dist/built.js': 'built\n',
      '.gitignore': 'dist/\n',
      'tool.sh': '#!/bin/sh\n',
    },
    links: { leak: '/etc/passwd', inner: 'src/sum.js' },
  });
  const repository = {
    id: `local-${rig.run}`,
    owner: 'o',
    name: 'n',
    installationId: null,
    defaultBranch: 'main',
    cloneUrl: rig.directory,
  };
  await rig.mirror.fetch(repository, rig.baseCommit, never);
  const workspace = await rig.sandbox.prepare(
    {
      run: rig.run,
      name: 'plan',
      repository,
      baseCommit: rig.baseCommit,
      tree: null,
      install: { packageManager: 'none', command: null },
      git: true,
    },
    never,
  );
  shell = createWorkspaceShell(rig.sandbox, workspace, never);
  const limits = { outputBytes: 4096, commandTimeoutMs: 20_000, memoryBytes: 256 * 1024 * 1024 };
  tools = [...readTools(shell, 4096), ...editTools(shell, limits)];
  applied = async (diff) =>
    (await rig.mirror.applyPatch(repository, rig.baseCommit, diff)).changes.map((one) => one.path);
}, 120_000);
afterAll(() => rig?.close());

let applied: (diff: string) => Promise<readonly string[]>;

async function call(name: string, input: Readonly<Record<string, unknown>>): Promise<string> {
  const tool = tools.find((one) => one.description.name === name);
  const outcome = await tool?.call(JSON.stringify(input));
  return outcome === undefined || outcome.kind === 'finished' ? `no text from ${name}` : outcome.text;
}

describe('the tools of the model in a real container', () => {
  it('list tracked files, those too that an ignore rule names', async () => {
    expect((await call('list_files', {})).trim().split('\n').sort()).toEqual(
      ['.gitignore', 'dist/built.js', 'inner', 'leak', 'package.json', 'src/sum.js', 'tool.sh'].sort(),
    );
    expect(await call('list_files', { path: 'src' })).toBe('src/sum.js\n');
  });

  it('read, and refuse a link that leads out', async () => {
    expect(await call('read_file', { path: 'src/sum.js' })).toContain(
      '[src/sum.js, lines 1-1 of 1]\nexport const sum',
    );
    expect(await call('read_file', { path: 'inner' })).toContain('export const sum');
    expect(await call('read_file', { path: 'leak' })).toContain('leads outside');
    expect(await call('read_file', { path: '../etc/passwd' })).toContain('refused');
  });

  it('search file contents', async () => {
    expect(await call('search', { pattern: 'reduce' })).toContain('src/sum.js:1:');
    expect(await call('search', { pattern: 'nowhere-to-be-found' })).toBe('no match');
    expect(await call('search', { pattern: '(' })).toContain('failed');
  });

  it('edit, and the patch of it makes the same change in the mirror', async () => {
    expect(await call('edit_file', { path: 'src/sum.js', old: 'a + b', new: 'b + a' })).toContain('edited');
    expect(await call('edit_file', { path: 'leak', old: 'root', new: 'x' })).toContain('failed');
    expect(await call('write_file', { path: 'lib/new.js', content: 'export {};\n' })).toContain('wrote');
    const diff = await takeDiff(shell);
    expect(await applied(diff)).toEqual(['lib/new.js', 'src/sum.js']);
    await restoreDiff(shell, '');
    expect(await takeDiff(shell)).toBe('');
    await restoreDiff(shell, diff);
    expect(await takeDiff(shell)).toBe(diff);
  });

  it('never carry a text that is not UTF-8 with its bytes changed', async () => {
    await restoreDiff(shell, '');
    await call('run_command', { command: "printf 'caf\\351\\n' > latin.txt" });
    await expect(takeDiff(shell)).rejects.toMatchObject({ code: 'PATCH_NOT_UTF8' });
    await call('run_command', { command: "printf 'caf\\303\\251 \\357\\277\\275\\n' > latin.txt" });
    expect(await applied(await takeDiff(shell))).toEqual(['latin.txt']);
    await call('run_command', { command: 'head -c 3000 /dev/urandom > latin.txt' });
    expect(await applied(await takeDiff(shell))).toEqual(['latin.txt']);
    await restoreDiff(shell, '');
  });

  it('run commands without a network, with bounded output and a time limit of ours', async () => {
    expect(await call('run_command', { command: 'echo out; echo err >&2; exit 3' })).toBe(
      'exit code 3\nstdout:\nout\nstderr:\nerr',
    );
    expect(await call('run_command', { command: 'ls /sys/class/net' })).not.toContain('eth0');
    expect((await call('run_command', { command: 'yes | head -c 100000' })).length).toBeLessThan(5000);
  });

  it('keep their hands off scratch files, and survive settings that the workspace made for git', async () => {
    await restoreDiff(shell, '');
    await call('run_command', {
      command: 'mkdir -p .hasten && echo x > .hasten/notes && chmod +x src/sum.js',
    });
    await call('run_command', {
      command: 'git config diff.noprefix true; git config core.fsmonitor /bin/false',
    });
    const diff = await takeDiff(shell);
    expect(diff).not.toContain('.hasten');
    expect(diff).toContain('diff --git a/src/sum.js b/src/sum.js');
    expect(await applied(diff)).toEqual(['src/sum.js']);
  });
});
