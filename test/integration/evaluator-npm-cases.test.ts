import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readRepositorySettings } from '../../src/config/repository-settings.js';
import { listCases, loadCase, materialise, writeFiles } from '../support/npm-case.js';

const execute = promisify(execFile);
const cases = await listCases();

describe('a published package as a repository', () => {
  it('is known by its id', async () => {
    expect(cases).toHaveLength(12);
    await expect(loadCase('unknown-1')).rejects.toThrow(/semver-773/);
  });

  it.each(cases.map((each) => each.id))(
    '%s passes its behaviour test before and after the change',
    async (id) => {
      const made = await materialise(await loadCase(id));
      const directory = await mkdtemp(join(tmpdir(), 'hasten-case-repository-'));
      const run = (program: string, ...argv: string[]) =>
        execute(program, argv, { cwd: directory, timeout: 60_000 });
      try {
        await writeFiles(directory, made.files);
        const lock = made.files.get('package-lock.json')?.toString('utf8') ?? '';
        expect(lock).not.toContain('"resolved"');
        const { dependencies } = JSON.parse(lock).packages[''];
        if (dependencies !== undefined) await run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
        await run('node', '--test', 'test/behaviour.test.mjs');
        expect([...made.fixFiles.keys()].every((path) => made.files.has(path))).toBe(true);
        await writeFiles(directory, made.fixFiles);
        await run('node', '--test', 'test/behaviour.test.mjs');
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    },
    120_000,
  );

  it('has settings that the service reads', async () => {
    const made = await materialise(await loadCase('radash-1032'));
    const settings = await readRepositorySettings({
      file: Buffer.from(made.settingsYaml),
      files: [...made.files].map(([path, { length }]) => ({ path, mode: '100644', sha: '', size: length })),
      read: async (path) => made.files.get(path) ?? null,
      ceilings: {
        attempts: 3,
        budgetUsd: 5,
        timeouts: { installMs: 60_000, buildMs: 60_000, testMs: 60_000, measureMs: 60_000 },
        memoryBytes: 2 ** 30,
      },
    });
    expect(settings).toMatchObject({
      origin: 'file',
      test: 'node --test test/behaviour.test.mjs',
      benchmark: { kind: 'module', module: 'bench/radash-1032.bench.mjs', entry: 'dist/esm/index.mjs' },
      allow: ['dist/esm/array.mjs', 'dist/esm/object.mjs'],
      install: { packageManager: 'npm' },
    });
  });
});
