/** Which benchmark decides a comparison: the one of the command line, else the one that the repository names. */
import { createHash } from 'node:crypto';
import { readFile, realpath } from 'node:fs/promises';
import { extname, relative, resolve, sep } from 'node:path';
import { UserError } from '../domain/errors.js';
import type { Benchmark, ModuleBenchmark } from '../domain/plan.js';
import type { SourceMirror } from '../domain/repository.js';
import type { RepositorySettings } from '../domain/settings.js';
import type { CompareArguments } from './compare-arguments.js';
import type { Subject } from './compared-subject.js';

/** A subject with its settings. */
export interface Side {
  readonly subject: Subject;
  readonly settings: RepositorySettings;
}

/** Where a benchmark is laid that comes from outside both sides. */
export const OVERLAY_DIRECTORY = '.hasten';
const MODULE_EXTENSIONS = ['.mjs', '.js', '.cjs', '.ts', '.mts', '.cts'];
const MOST_BYTES = 2 ** 20;
/** Node takes `.js` for CommonJS or ES module by the nearest package.json, which is not the file's own here. */
const LAID_EXTENSIONS: Readonly<Record<string, string>> = { '.js': '.mjs', '.ts': '.mts' };

/**
 * The benchmark with its full source. A module's `entry` is left empty where it is the package's own, which only an
 * installed side can tell. Throws UserError that says what to pass.
 */
export async function chooseBenchmark(
  asked: Pick<CompareArguments, 'measured' | 'entry'>,
  sides: { readonly base: Side; readonly head: Side },
  mirror: SourceMirror,
  cwd: string,
): Promise<Benchmark> {
  const { measured } = asked;
  switch (measured.kind) {
    case 'bench':
      return givenModule(measured.file, asked.entry, sides, cwd);
    case 'command':
      return { kind: 'command', ...frozen(measured.command) };
    case 'report':
      return { kind: 'report', ...frozen(measured.command), format: measured.format, file: measured.file };
    case 'configured':
      return configured(asked.entry, sides, mirror);
  }
}

async function givenModule(
  file: string,
  entry: string | null,
  sides: { readonly base: Side; readonly head: Side },
  cwd: string,
): Promise<ModuleBenchmark> {
  const path = resolve(cwd, file);
  const extension = extname(path);
  if (!MODULE_EXTENSIONS.includes(extension)) {
    throw noBenchmark(`--bench ${file} must be a module (${MODULE_EXTENSIONS.join(', ')})`);
  }
  const source = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw noBenchmark(`--bench ${file} cannot be read`, cause);
  });
  if (source.length > MOST_BYTES) throw noBenchmark(`--bench ${file} has more than ${MOST_BYTES} bytes`);
  const laid = LAID_EXTENSIONS[extension] ?? extension;
  const inside = insideOf(await realpath(path), [sides.base.subject.root, sides.head.subject.root]);
  return {
    kind: 'module',
    ...frozen(source),
    path: inside ?? `${OVERLAY_DIRECTORY}/benchmark${laid}`,
    entry: entryOf(entry, sides.base),
    heldBack: null,
  };
}

/** Its own path, so that what it imports beside itself is found; null outside of all `roots`. */
function insideOf(path: string, roots: readonly (string | null)[]): string | null {
  for (const root of roots) {
    if (root === null) continue;
    const below = relative(root, path);
    if (below !== '' && !below.startsWith('..') && resolve(root, below) === path) {
      return below.split(sep).join('/');
    }
  }
  return null;
}

async function configured(
  entry: string | null,
  sides: { readonly base: Side; readonly head: Side },
  mirror: SourceMirror,
): Promise<Benchmark> {
  // Base decides; a benchmark that came with head is better than none.
  const side = sides.base.settings.benchmark === null ? sides.head : sides.base;
  const { benchmark } = side.settings;
  if (benchmark === null) {
    throw noBenchmark(
      'neither side names a benchmark in .github/hasten.yml; pass --bench FILE with a module that exports run(), or --command TEXT',
    );
  }
  if (benchmark.kind === 'command') return { kind: 'command', ...frozen(benchmark.command) };
  if (benchmark.kind === 'report') {
    const { command, format, file } = benchmark;
    return { kind: 'report', ...frozen(command), format, file };
  }
  const { repository, commit } = side.subject;
  const source = await mirror.readFile(repository, commit, benchmark.module);
  if (source === null)
    throw noBenchmark(`the benchmark ${benchmark.module} is no file of ${side.subject.given}`);
  return {
    kind: 'module',
    ...frozen(source.toString('utf8')),
    path: benchmark.module,
    entry: entry === null ? benchmark.entry : innerEntry(entry),
    heldBack: null,
  };
}

/** Path of the module under test from the root of a side; empty for a package's own entry. */
function entryOf(entry: string | null, { subject, settings }: Side): string {
  if (entry !== null) {
    const inner = innerEntry(entry);
    const isFromRoot = subject.packageName === null || inner.startsWith('node_modules/');
    return isFromRoot ? inner : `node_modules/${subject.packageName}/${inner}`;
  }
  if (subject.packageName !== null) return '';
  if (settings.entry !== null) return settings.entry;
  throw noBenchmark('package.json names no module under test that exists; pass --entry PATH');
}

function innerEntry(entry: string): string {
  const inner = entry.replace(/^(\.\/)+/, '');
  const isInner = inner !== '' && !inner.startsWith('/') && !inner.split('/').includes('..');
  if (isInner) return inner;
  throw noBenchmark(
    `--entry is ${JSON.stringify(entry)}; expected a path inside of the repository or package`,
  );
}

function frozen(source: string) {
  const sha256 = createHash('sha256').update(source).digest('hex');
  return { origin: 'repository', source, sha256 } as const;
}

function noBenchmark(problem: string, cause?: unknown): UserError {
  return new UserError({ code: 'NO_BENCHMARK', message: `compare: ${problem}.`, cause });
}
