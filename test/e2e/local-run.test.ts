import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../src/store/sqlite-database.js';
import { type ChildService, startChildService } from '../support/child-service.js';
import { createLocalRepository, type LocalRepository } from '../support/local-repository.js';
import { type ModelScript, rejectScript, scriptFromCase } from '../support/scripted-model/case-script.js';
import { type ScriptedModel, startScriptedModel } from '../support/scripted-model/scripted-model.js';
import { caseOf, smallSubject } from '../support/small-subject.js';
import { inheritedEnvironment } from '../support/stage.js';
import { leftoversOf, ownerOf, removeCaches } from './traces.js';

const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const RUN_MS = 240_000;
const USE_MS = 60_000;
const subject = smallSubject();
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function folder(prefix: string): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  closers.push(async () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The small library as a repository of somebody's own, on a branch of its own. */
function subjectRepository(): LocalRepository {
  const repository = createLocalRepository('subject');
  closers.push(async () => repository.remove());
  for (const [path, content] of subject.files) repository.write(path, content);
  repository.commit('Start');
  repository.git('checkout', '--quiet', '-b', 'work/in-progress');
  return repository;
}

async function modelWith(script: ModelScript, delayMs = 0): Promise<ScriptedModel> {
  const model = await startScriptedModel({ script, delayMs });
  closers.push(() => model.close());
  return model;
}

interface Command {
  readonly model?: ScriptedModel;
  readonly cwd?: string;
  readonly dataDir?: string;
}

/** `hasten` with these arguments; the environment holds the model and nothing else of ours. */
async function hasten(args: readonly string[], command: Command = {}): Promise<ChildService> {
  const { model, dataDir } = command;
  const child = await startChildService({
    argv: [process.execPath, COMMAND, ...args],
    cwd: command.cwd ?? folder('hasten-cwd-'),
    env: {
      ...inheritedEnvironment(),
      ...(dataDir === undefined ? {} : { HASTEN_DATA_DIR: dataDir }),
      ...(model === undefined
        ? {}
        : { OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'scripted', HASTEN_MODEL_PRICES: '1.25,10' }),
    },
  });
  closers.push(() => child.close());
  return child;
}

function dataFolder(): string {
  const dataDir = folder('hasten-local-data-');
  closers.push(async () => removeCaches(`${ownerOf(dataDir)}-local`));
  return dataDir;
}

describe('hasten run', () => {
  it(
    'leaves a branch with the measured patch on top of HEAD, a report, and everything else as it was',
    async () => {
      const repository = subjectRepository();
      repository.write('README.md', 'not committed\n');
      repository.write('index.js', `${subject.files.get('index.js')}\n// not committed\n`);
      const before = {
        status: repository.git('status', '--porcelain'),
        head: repository.git('rev-parse', 'HEAD'),
      };
      const model = await modelWith(scriptFromCase(caseOf(subject)));
      const dataDir = dataFolder();
      const child = await hasten(
        ['run', '--repo', repository.directory, '--issue', 'unique() is slow\nfor long lists'],
        { model, dataDir },
      );
      const code = await child.waitForExit(RUN_MS);
      const report = child.stdout();
      expect({ code, said: code === 0 ? '' : child.lines().join('\n') }).toEqual({ code: 0, said: '' });

      const [branch, ...others] = repository
        .git('branch', '--list', 'hasten/*', '--format=%(refname:short)')
        .trim()
        .split('\n');
      expect(others).toEqual([]);
      expect(branch).toMatch(/^hasten\/[0-9a-f]{12}$/);
      expect(repository.git('rev-parse', `${branch}^`)).toBe(before.head);
      expect(repository.git('diff', '--name-only', before.head.trim(), String(branch)).trim()).toBe(
        'index.js',
      );
      expect(repository.git('show', `${branch}:index.js`)).toBe(
        subject.fixFiles.get('index.js')?.toString().trim(),
      );

      expect(repository.git('status', '--porcelain')).toBe(before.status);
      expect(repository.git('rev-parse', '--abbrev-ref', 'HEAD').trim()).toBe('work/in-progress');
      expect(repository.git('rev-parse', 'HEAD')).toBe(before.head);
      expect(readdirSync(repository.directory).sort()).toEqual(
        [
          '.git',
          '.github',
          'README.md',
          'bench',
          'index.js',
          'package-lock.json',
          'package.json',
          'test',
        ].sort(),
      );

      expect(report).toMatch(/^# unique.* is slow/);
      expect(report).toContain('Hasten left a branch');
      expect(report).not.toMatch(/pull request/);
      expect(report).toContain(String(branch));
      expect(report).toMatch(/faster/);
      expect(report).toMatch(/At least \d+ % less CPU time/);
      expect(report).toContain('[...new Set(values)]');
      expect(child.stderr()).toMatch(/uncommitted changes.*HEAD/);

      expect(await leftoversOf(`${ownerOf(dataDir)}-local`)).toEqual([]);
      const ledger = openSqlite(join(dataDir, 'local-ledger.db'));
      const lessons = await ledger.tx((tx) => tx.all<{ outcome: string }>('select outcome from lesson'));
      await ledger.close();
      expect(lessons).toEqual([{ outcome: 'pull-request' }]);
    },
    RUN_MS,
  );

  it(
    'leaves no branch for a patch that makes nothing faster, and prints the run as JSON with the reason',
    async () => {
      const repository = subjectRepository();
      const model = await modelWith(rejectScript(caseOf(subject)));
      const dataDir = dataFolder();
      const child = await hasten(
        ['run', '--repo', repository.directory, '--issue', 'unique() is slow', '--json', '--quiet'],
        { model, dataDir },
      );
      expect(await child.waitForExit(RUN_MS)).toBe(1);
      expect(child.stderr()).toBe('');
      expect(JSON.parse(child.stdout())).toMatchObject({
        outcome: 'failed',
        outcomeReason: expect.stringMatching(/no-change|no change|inconclusive/),
        submission: null,
      });
      expect(repository.git('branch', '--list', 'hasten/*')).toBe('');
      expect(await leftoversOf(`${ownerOf(dataDir)}-local`)).toEqual([]);
    },
    RUN_MS,
  );

  it(
    'removes what it made in Docker when it is interrupted, leaves no branch and says so in one sentence',
    async () => {
      const repository = subjectRepository();
      const model = await modelWith(scriptFromCase(caseOf(subject)), 700);
      const dataDir = dataFolder();
      const child = await hasten(['run', '--repo', repository.directory, '--issue', 'slow'], {
        model,
        dataDir,
      });
      await expect
        .poll(() => model.calls().filter((call) => call.station === 'executing').length, { timeout: USE_MS })
        .toBeGreaterThan(0);
      expect(await child.terminate()).toBe(1);
      expect(child.lines().at(-1)).toBe('hasten: Interrupted; no branch was left.');
      expect(repository.git('branch', '--list', 'hasten/*')).toBe('');
      expect(await leftoversOf(`${ownerOf(dataDir)}-local`)).toEqual([]);
    },
    RUN_MS,
  );
});

describe('wrong use of hasten', () => {
  async function refusal(args: readonly string[]): Promise<string> {
    const child = await hasten(args, { dataDir: folder('hasten-unused-') });
    expect(await child.waitForExit(USE_MS)).toBe(2);
    expect(child.stdout()).toBe('');
    const said = child.lines().join('\n');
    expect(said).not.toMatch(/^\s+at /m);
    return said;
  }

  it(
    'ends with 2 and one clear sentence, before anything is made',
    async () => {
      const unborn = createLocalRepository('unborn');
      closers.push(async () => unborn.remove());
      const plain = folder('hasten-no-repository-');
      const [missing, unknown, option, notOne, noCommit, nowhere] = await Promise.all([
        refusal(['run', '--repo', unborn.directory]),
        refusal(['race']),
        refusal(['run', '--issue', 'slow', '--fast']),
        refusal(['run', '--repo', plain, '--issue', 'slow']),
        refusal(['run', '--repo', unborn.directory, '--issue', 'slow']),
        refusal(['run', '--repo', join(plain, 'nothing-here'), '--issue', 'slow']),
      ]);
      expect(missing).toMatch(/--issue needs the performance problem in words/);
      expect(unknown).toMatch(/There is no command race/);
      expect(option).toMatch(/Unknown option '--fast'/);
      for (const said of [notOne, noCommit, nowhere]) {
        expect(said).toMatch(/is not a git repository with at least one commit.*--repo/);
        expect(said.split('\n')).toHaveLength(1);
      }
    },
    USE_MS * 2,
  );
});
