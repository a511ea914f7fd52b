/** Real subjects for tests and the demo: a published package before a known performance fix, put into a repository. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { stringify } from 'yaml';
import { z } from 'zod';

const CASES_DIR = fileURLToPath(new URL('../../fixtures/cases/', import.meta.url));
const CACHE_DIR = fileURLToPath(new URL('../../node_modules/.cache/hasten/cases/', import.meta.url));

const npmCaseSchema = z.object({
  id: z.string().regex(/^[a-z0-9-]+$/),
  package: z.string(),
  base: z.string(),
  fix: z.string(),
  entry: z.string(),
  issue_title: z.string(),
  issue_body: z.string(),
  bench: z.string(),
  expected: z.enum(['faster', 'no-change', 'slower']),
  ratio: z.number(),
  interval: z.tuple([z.number(), z.number()]),
  pairs: z.number(),
  diff_lines: z.number(),
  diff_files: z.array(z.string()),
  dependencies: z.array(z.string().regex(/^(@[^/]+\/)?[^@]+@[^@]+$/)),
});

/** One entry of `fixtures/cases/npm-cases.json`. */
export type NpmCase = z.infer<typeof npmCaseSchema>;

/** A case as a repository; every path is relative to its root. */
export interface CaseRepository {
  readonly id: string;
  /** Complete content of the first commit (base version, benchmark, behaviour test, lockfile, `.github/hasten.yml`). */
  readonly files: Map<string, Buffer>;
  /** The files of the real change in the next version; written over `files` they are the fixed repository. */
  readonly fixFiles: Map<string, Buffer>;
  /** Content of `.github/hasten.yml`; already among `files`. */
  readonly settingsYaml: string;
  /** Path of the benchmark module. */
  readonly benchmarkPath: string;
  /** Module under test. */
  readonly entry: string;
  readonly issueTitle: string;
  readonly issueBody: string;
  /** Source of the held-back workload that planning would write (`fixtures/cases/<id>.held-back.mjs`); null where there is none. */
  readonly heldBack: string | null;
}

/** All cases, in the order of the file: ours, or another one of its form. */
export async function listCases(
  file: string = join(CASES_DIR, 'npm-cases.json'),
): Promise<readonly NpmCase[]> {
  const text = await readFile(file, 'utf8');
  return z.array(npmCaseSchema).parse(JSON.parse(text));
}

/** One case by id; the error names the ids that exist. */
export async function loadCase(id: string): Promise<NpmCase> {
  const cases = await listCases();
  const found = cases.find((candidate) => candidate.id === id);
  if (found === undefined) {
    throw new Error(`No case "${id}". Known cases: ${cases.map((each) => each.id).join(', ')}.`);
  }
  return found;
}

/**
 * Makes a repository of a case: fetches both published versions with npm (kept under node_modules/.cache), drops the
 * package's own scripts and devDependencies, adds a lockfile with the case's dependency versions, the benchmark, a
 * behaviour test and the settings. Throws when npm cannot fetch a version that is not cached yet.
 */
export async function materialise(subject: NpmCase): Promise<CaseRepository> {
  const [base, fix, behaviourTest, heldBack] = await Promise.all([
    packageFiles(subject.package, subject.base),
    packageFiles(subject.package, subject.fix),
    // A case from another file has no behaviour test of ours, and no held-back workload.
    readFile(join(CASES_DIR, `${subject.id}.test.mjs`)).catch(() => null),
    readFile(join(CASES_DIR, `${subject.id}.held-back.mjs`), 'utf8').catch(() => null),
  ]);
  const benchmarkPath = `bench/${subject.id}.bench.mjs`;
  const entry = subject.entry.replace(`node_modules/${subject.package}/`, '');
  const settingsYaml = settingsOf(subject, benchmarkPath, entry);
  const manifest = repositoryManifest(required(base, 'package.json'));
  const files = new Map(base);
  files.set('package.json', Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  files.set('package-lock.json', await lockfile(subject, manifest));
  files.set('.gitignore', Buffer.from('node_modules/\n'));
  files.set('.github/hasten.yml', Buffer.from(settingsYaml));
  files.set(benchmarkPath, Buffer.from(subject.bench));
  if (behaviourTest !== null) files.set('test/behaviour.test.mjs', behaviourTest);
  const fixFiles = new Map(subject.diff_files.map((path) => [path, required(fix, path)]));
  return {
    id: subject.id,
    files,
    fixFiles,
    settingsYaml,
    benchmarkPath,
    entry,
    issueTitle: subject.issue_title,
    issueBody: subject.issue_body,
    heldBack,
  };
}

/** Writes files below a directory, making folders as needed; for local repositories and direct runs in tests. */
export async function writeFiles(directory: string, files: ReadonlyMap<string, Buffer>): Promise<void> {
  for (const [path, content] of files) {
    const target = join(directory, path);
    await mkdir(join(target, '..'), { recursive: true });
    await writeFile(target, content);
  }
}

const TEST_COMMAND = 'node --test test/behaviour.test.mjs';

function settingsOf(subject: NpmCase, module: string, entry: string): string {
  return stringify({ test: TEST_COMMAND, benchmark: { module, entry }, allow: subject.diff_files });
}

const manifestSchema = z.looseObject({
  name: z.string(),
  version: z.string(),
  dependencies: z.record(z.string(), z.string()).optional(),
});
type Manifest = z.infer<typeof manifestSchema>;

function repositoryManifest(published: Buffer): Manifest {
  const manifest = manifestSchema.parse(JSON.parse(published.toString('utf8')));
  delete manifest.devDependencies;
  return { ...manifest, private: true, scripts: { test: TEST_COMMAND } };
}

/** The lockfile pins what the case lists; its root entry keeps the package's own ranges, as npm would write it. */
async function lockfile(subject: NpmCase, manifest: Manifest): Promise<Buffer> {
  const cached = join(CACHE_DIR, `${subject.id}.package-lock.json`);
  const pinned = await readFile(cached).catch(async () => {
    return inScratch(async (directory) => {
      const dependencies = Object.fromEntries(subject.dependencies.map(nameAndVersion));
      const { name, version } = manifest;
      await writeFile(join(directory, 'package.json'), JSON.stringify({ name, version, dependencies }));
      await npm(directory, ['install', '--package-lock-only', '--omit-lockfile-registry-resolved']);
      await keep(join(directory, 'package-lock.json'), cached);
      return readFile(cached);
    });
  });
  const { packages, ...head } = lockSchema.parse(JSON.parse(pinned.toString('utf8')));
  const root = pick(manifest, ['name', 'version', 'license', 'dependencies', 'bin', 'engines']);
  const lock = { ...head, packages: { ...packages, '': root } };
  return Buffer.from(`${JSON.stringify(lock, null, 2)}\n`);
}

const lockSchema = z.looseObject({
  packages: z.object({ '': z.looseObject({}) }).catchall(z.looseObject({})),
});

function pick(from: Manifest, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]]));
}

function nameAndVersion(spec: string): [string, string] {
  const at = spec.lastIndexOf('@');
  return [spec.slice(0, at), spec.slice(at + 1)];
}

async function packageFiles(name: string, version: string): Promise<Map<string, Buffer>> {
  const archive = join(CACHE_DIR, `${name.replace('/', '-')}-${version}.tgz`);
  const packed = await readFile(archive).catch(async () => {
    return inScratch(async (directory) => {
      await npm(directory, ['pack', `${name}@${version}`]);
      await keep(join(directory, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`), archive);
      return readFile(archive);
    });
  });
  return unpack(packed);
}

async function unpack(packed: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const entries = Readable.from([packed]).pipe(createGunzip()).pipe(extract());
  for await (const entry of entries) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
    if (entry.header.type === 'file') {
      files.set(entry.header.name.replace(/^[^/]+\//, ''), Buffer.concat(chunks));
    }
  }
  return files;
}

function required(files: ReadonlyMap<string, Buffer>, path: string): Buffer {
  const content = files.get(path);
  if (content === undefined) throw new Error(`The published package has no file ${path}.`);
  return content;
}

async function npm(directory: string, args: readonly string[]): Promise<void> {
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await promisify(execFile)('npm', [...args, ...quiet], { cwd: directory, timeout: 120_000 });
}

/** Moves a finished file into the cache in one step, so that two test processes never see half of it. */
async function keep(from: string, to: string): Promise<void> {
  await mkdir(CACHE_DIR, { recursive: true });
  const staged = `${to}.${process.pid}.${performance.now()}`;
  await writeFile(staged, await readFile(from));
  await rename(staged, to);
}

async function inScratch<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'hasten-case-'));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
