import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type ChildService, startChildService } from '../support/child-service.js';
import { createLocalRepository, type LocalRepository } from '../support/local-repository.js';
import { loadCase } from '../support/npm-case.js';
import { smallSubject } from '../support/small-subject.js';
import { inheritedEnvironment } from '../support/stage.js';
import { leftoversOf, ownerOf, removeCaches } from './traces.js';

const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const COMPARE_MS = 240_000;
const subject = smallSubject();
const dataDir = mkdtempSync(join(tmpdir(), 'hasten-compare-data-'));
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

afterAll(async () => {
  await removeCaches(`${ownerOf(dataDir)}-local`);
  rmSync(dataDir, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Place {
  readonly cwd: string;
  /** Where scratch folders are made. */
  readonly temporary: string;
}

function place(): Place {
  const cwd = folder('hasten-compare-cwd-');
  const temporary = join(cwd, 'tmp');
  mkdirSync(temporary);
  return { cwd, temporary };
}

function folder(prefix: string): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  closers.push(async () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function start(args: readonly string[], { cwd, temporary }: Place): Promise<ChildService> {
  const env = { ...inheritedEnvironment(), TMPDIR: temporary, HASTEN_DATA_DIR: dataDir };
  const child = await startChildService({ argv: [process.execPath, COMMAND, 'compare', ...args], cwd, env });
  closers.push(() => child.close());
  return child;
}

/** Runs it to the end and expects that nothing but caches is left. */
async function compare(args: readonly string[], at: Place = place()): Promise<Ended> {
  const child = await start(args, at);
  const code = await child.waitForExit(COMPARE_MS);
  expect(readdirSync(at.temporary)).toEqual([]);
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}

async function expectNoTraces(): Promise<void> {
  expect(await leftoversOf(`${ownerOf(dataDir)}-local`)).toEqual([]);
}

/** Two commits: slow, then fast. */
function subjectRepository(): LocalRepository {
  const repository = createLocalRepository('compared');
  closers.push(async () => repository.remove());
  for (const [path, content] of subject.files) repository.write(path, content);
  repository.commit('Start');
  repository.git('tag', 'slow');
  for (const [path, content] of subject.fixFiles) repository.write(path, content);
  repository.commit('Make it fast');
  repository.git('tag', 'fast');
  return repository;
}

describe('hasten compare in the sandbox', () => {
  it(
    'finds the fast revision faster with its configured benchmark, and shows table, strip and bound',
    async () => {
      const { directory } = subjectRepository();
      const { code, stdout, stderr } = await compare(['slow', 'fast', '--repo', directory]);
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/benchmark +bench\/unique\.bench\.mjs, entry index\.js/);
      expect(stdout).toMatch(/^run +faster +\d/m);
      expect(stdout).toMatch(/^run +0\.\d+x {2}\.+\|[.o2-9]+ {2}/m);
      expect(stdout).toMatch(/^Faster: at least \d\d % less CPU time\.$/m);
      expect(stderr).toMatch(/^measuring run: \d+ of at most 40 pairs/m);
      await expectNoTraces();
    },
    COMPARE_MS,
  );

  it(
    'finds it slower the other way round, with 1 and one JSON object',
    async () => {
      const { directory } = subjectRepository();
      const { code, stdout } = await compare(['fast', 'slow', '--repo', directory, '--json', '--seed', 's']);
      expect(code).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({
        verdict: 'slower',
        exitCode: 1,
        sentence: expect.stringMatching(/^Slower: at least \d+ % more CPU time\.$/),
        place: 'sandbox',
        seed: 's',
        output: 'same',
        workloads: [{ name: 'run', verdict: 'slower' }],
      });
      await expectNoTraces();
    },
    COMPARE_MS,
  );

  it(
    'never finds a revision faster or slower than itself',
    async () => {
      const { directory } = subjectRepository();
      const { code } = await compare(['fast', 'HEAD', '--repo', directory, '--timeout', '40']);
      expect([2, 3]).toContain(code);
    },
    COMPARE_MS,
  );

  it(
    'compares two published versions with a benchmark of the user, as Markdown with a chart',
    async () => {
      const known = await loadCase('radash-1032');
      const at = place();
      writeFileSync(join(at.cwd, 'radash.bench.mjs'), known.bench);
      const subjects = [`npm:${known.package}@${known.base}`, `npm:${known.package}@${known.fix}`];
      const { code, stdout, stderr } = await compare(
        [...subjects, '--bench', 'radash.bench.mjs', '--markdown'],
        at,
      );
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^\*\*Faster: at least 9\d % less CPU time\.\*\*/);
      expect(stdout).toContain('benchmark `radash.bench.mjs`, entry `node_modules/radash/');
      expect(stdout).toContain('```mermaid\nxychart-beta\n');
      await expectNoTraces();
    },
    COMPARE_MS,
  );

  it(
    'refuses to compare other output, unless it is told to',
    async () => {
      const repository = subjectRepository();
      repository.write('index.js', 'export const unique = () => [1, 2, 3];\n');
      repository.commit('Break it');
      const args = ['slow', 'HEAD', '--repo', repository.directory];
      const refused = await compare(args);
      expect(refused.code).toBe(4);
      expect(refused.stderr).toMatch(/output of the benchmark is not the same on head/);
      expect(refused.stderr).toContain('--allow-different-output');
      expect(refused.stdout).toBe('');
      const told = await compare([...args, '--allow-different-output', '--json']);
      expect(told.code).toBe(0);
      expect(JSON.parse(told.stdout)).toMatchObject({ output: 'different', verdict: 'faster' });
      await expectNoTraces();
    },
    COMPARE_MS,
  );

  it(
    'ends with 130 when it is interrupted, and leaves nothing',
    async () => {
      const { directory } = subjectRepository();
      const at = place();
      const child = await start(['slow', 'slow', '--repo', directory], at);
      await child.waitForLine(/measuring run/, COMPARE_MS);
      await child.kill('SIGINT');
      expect(await child.waitForExit(30_000)).toBe(130);
      expect(child.stderr()).toMatch(/Interrupted; nothing was left behind\.\s*$/);
      expect(readdirSync(at.temporary)).toEqual([]);
      await expectNoTraces();
    },
    COMPARE_MS,
  );
});

describe('hasten compare --host', () => {
  it(
    'compares two directories by a command, with a warning, without Docker',
    async () => {
      const at = place();
      for (const [name, rounds] of [
        ['before', 40_000_000],
        ['after', 4_000_000],
      ] as const) {
        mkdirSync(join(at.cwd, name));
        const script = `let sum = 0; for (let i = 0; i < ${rounds}; i++) sum = (sum + i * i) % 7; console.log('ok');`;
        writeFileSync(join(at.cwd, name, 'work.js'), script);
      }
      const { code, stdout, stderr } = await compare(
        ['./before', './after', '--host', '--command', 'node work.js', '--json'],
        at,
      );
      expect(JSON.parse(stdout)).toMatchObject({ place: 'host', output: 'same', verdict: 'faster' });
      expect(code).toBe(0);
      expect(stderr).toMatch(/^warning: --host runs the code of both sides on this machine with your rights/);
    },
    COMPARE_MS,
  );
});

describe('wrong use of hasten compare', () => {
  it(
    'ends with 4 and a sentence that says what to pass',
    async () => {
      const at = place();
      // Side by side, so that each has its own scratch folder to look into afterwards.
      const own = (): Place => ({ cwd: at.cwd, temporary: folder('hasten-compare-tmp-') });
      for (const name of ['a', 'b', 'empty']) mkdirSync(join(at.cwd, name));
      writeFileSync(join(at.cwd, 'a', 'x.txt'), 'x');
      writeFileSync(join(at.cwd, 'b', 'x.txt'), 'x');
      const [one, nowhere, nothing, empty, version, option] = await Promise.all([
        compare(['main'], own()),
        compare(['nowhere', './a'], own()),
        compare(['./a', './b', '--host'], own()),
        compare(['./empty', './b', '--host', '--command', 'true'], own()),
        compare(['npm:cookie', 'npm:cookie@1.0.0', '--json'], own()),
        compare(['a', 'b', '--fast'], own()),
      ]);
      expect(one.stderr).toMatch(/expected two subjects, BASE and HEAD/);
      expect(nowhere.stderr).toMatch(/neither a revision of the git repository .* nor a directory/);
      expect(nothing.stderr).toMatch(/pass --bench FILE .* or --command TEXT/);
      expect(empty.stderr).toMatch(/the directory \.\/empty has no files/);
      expect(option.stderr).toMatch(/Unknown option '--fast'/);
      expect(JSON.parse(version.stdout)).toMatchObject({
        verdict: null,
        exitCode: 4,
        error: { code: 'PACKAGE_SPEC' },
      });
      for (const { code, stderr } of [one, nowhere, nothing, empty, version, option]) {
        expect(code).toBe(4);
        expect(stderr).not.toMatch(/^\s+at /m);
      }
    },
    COMPARE_MS,
  );

  it('shows its use with --help', async () => {
    const { code, stdout } = await compare(['--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^hasten compare BASE HEAD/);
    expect(stdout).toContain('Exit code: 0 faster, 1 slower, 2 no change, 3 inconclusive, 4 error');
  });
});
