/** Finds out how a JavaScript project is installed, built and tested, from its lockfile and package.json alone. */
import { z } from 'zod';
import type { TreeEntry } from '../domain/repository.js';
import type { InstallSpec } from '../domain/sandbox.js';
import { isInnerPath } from './repository-file.js';

/** What a project's own files say; null where they say nothing. */
export interface DetectedProject {
  readonly install: InstallSpec;
  readonly build: string | null;
  readonly test: string | null;
  readonly checks: {
    readonly types: string | null;
    readonly lint: string | null;
    readonly format: string | null;
  };
  /** Module under test, a path from the root. */
  readonly entry: string | null;
}

type PackageManager = 'npm' | 'pnpm' | 'yarn';

const LOCKFILES: readonly (readonly [string, PackageManager])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
];

/** Scripts by the names that most projects give them, the surest first. */
const TYPE_SCRIPTS = [
  'typecheck',
  'type-check',
  'typecheck:all',
  'check-types',
  'check:types',
  'types:check',
  'test:types',
  'types',
  'tsc',
] as const;
const LINT_SCRIPTS = ['lint:check', 'check:lint', 'lint', 'eslint'] as const;
const FORMAT_SCRIPTS = [
  ...['format:check', 'check:format', 'fmt:check', 'prettier:check', 'format-check', 'check-format'],
  ...['lint:format', 'format', 'fmt', 'prettier'],
] as const;
/** What makes a script rewrite files or never end; what it prints says nothing of the tree as it was then. */
const REWRITES = /(?:^|\s)(?:--(?:fix|write|apply|apply-unsafe|unsafe|watch|serve)(?=[\s=]|$)|-w(?=\s|$))/;
/** A script of a name that usually rewrites counts only where it plainly looks. */
const ONLY_LOOKS =
  /--check\b|--list-different\b|(?:^|\s)-l(?:\s|$)|\bbiome (?:format|check|ci|lint)\b|\bdprint check\b/;
const USUALLY_REWRITES: ReadonlySet<string> = new Set(['format', 'fmt', 'prettier']);
/** Scripts that run others, by name or by a pattern of names. */
const RUNS_SCRIPTS =
  /\b(?:(?:npm|pnpm|yarn)(?: run)?|run-[sp]|npm-run-all2?|concurrently|wireit|turbo run)\b([^&|;]*)/g;
const NO_CHECKS = { types: null, lint: null, format: null } as const;

/** What `npm init` writes as test script. */
const PLACEHOLDER_TEST = /^echo ["']?Error: no test specified["']? && exit 1$/;
/** A benchmark is an ES module that imports the entry, so conditions are tried in that order. */
const CONDITIONS = ['node', 'import', 'module', 'default', 'require'] as const;
const MAX_EXPORTS_DEPTH = 5;

const script = z.string().optional().catch(undefined);
const packageSchema = z.looseObject({
  packageManager: script,
  main: script,
  module: script,
  exports: z.unknown().optional(),
  scripts: z.record(z.string(), script).optional().catch(undefined),
  dependencies: z.record(z.string(), z.unknown()).optional().catch(undefined),
  devDependencies: z.record(z.string(), z.unknown()).optional().catch(undefined),
});

type PackageJson = z.infer<typeof packageSchema>;

/** What stands in a package.json text, or null when it is not a JSON object. Keys of a wrong type count as missing. */
export function parsePackageJson(text: string): PackageJson | null {
  try {
    const parsed: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    const result = packageSchema.safeParse(parsed);
    return result.success ? result.data : null;
  } catch {
    return null;
  }
}

/**
 * Detects a project from its package.json (null when there is none) and the entries of its tree.
 * Several lockfiles: the `packageManager` field of package.json decides, else pnpm, yarn, npm in this order.
 */
export function detectProject(packageJson: PackageJson | null, files: readonly TreeEntry[]): DetectedProject {
  if (packageJson === null) {
    const install = { packageManager: 'none', command: null } as const;
    return { install, build: null, test: null, checks: NO_CHECKS, entry: null };
  }
  const paths = new Set(files.filter(isRegularFile).map((file) => file.path));
  const manager = lockedManager(packageJson, paths);
  const scripts = new Map(
    Object.entries(packageJson.scripts ?? {}).flatMap(([name, text]): [string, string][] => {
      const content = nonEmpty(text);
      return content === null ? [] : [[name, content]];
    }),
  );
  const first = (names: readonly string[]) => {
    const found = names.find((name) => onlyLooks(name, scripts));
    return found === undefined ? null : `${manager ?? 'npm'} run ${found}`;
  };
  const build = nonEmpty(packageJson.scripts?.build);
  const test = nonEmpty(packageJson.scripts?.test);
  return {
    install: installOf(packageJson, manager),
    build: build === null ? null : `${manager ?? 'npm'} run build`,
    test: test === null || PLACEHOLDER_TEST.test(test) ? null : `${manager ?? 'npm'} test`,
    checks: { types: first(TYPE_SCRIPTS), lint: first(LINT_SCRIPTS), format: first(FORMAT_SCRIPTS) },
    entry: entryOf(packageJson, paths, build !== null),
  };
}

/** True for a script that neither rewrites files nor runs another one that does, as far as its text tells. */
function onlyLooks(name: string, scripts: ReadonlyMap<string, string>): boolean {
  const text = scripts.get(name);
  if (text === undefined) return false;
  if (USUALLY_REWRITES.has(name) && !ONLY_LOOKS.test(text)) return false;
  return [...reached(name, scripts)].every((each) => !REWRITES.test(scripts.get(each) ?? ''));
}

/** Names of the scripts that running `name` may run. */
function reached(name: string, scripts: ReadonlyMap<string, string>): ReadonlySet<string> {
  const names = new Set([name]);
  for (const each of names) {
    for (const hook of [`pre${each}`, `post${each}`]) if (scripts.has(hook)) names.add(hook);
    for (const [, words = ''] of (scripts.get(each) ?? '').matchAll(RUNS_SCRIPTS)) {
      for (const word of words.split(/[\s'"]+/)) {
        const prefix = /^([\w:.-]+:)\*{1,2}$/.exec(word)?.[1];
        if (scripts.has(word)) names.add(word);
        if (prefix === undefined) continue;
        for (const other of scripts.keys()) if (other.startsWith(prefix)) names.add(other);
      }
    }
  }
  return names;
}

/** True for entries with content of their own: no symlinks, no submodules. */
export function isRegularFile(entry: TreeEntry): boolean {
  return entry.mode === '100644' || entry.mode === '100755';
}

function lockedManager(packageJson: PackageJson, paths: ReadonlySet<string>): PackageManager | null {
  const present = LOCKFILES.filter(([name]) => paths.has(name)).map(([, manager]) => manager);
  const named = packageJson.packageManager?.split('@')[0];
  return present.find((manager) => manager === named) ?? present[0] ?? null;
}

function installOf(packageJson: PackageJson, manager: PackageManager | null): InstallSpec {
  if (manager !== null) return { packageManager: manager, command: null };
  const names = [packageJson.dependencies, packageJson.devDependencies].flatMap((group) =>
    Object.keys(group ?? {}),
  );
  // Dependencies without a lockfile: npm, whose frozen install then says that the lockfile is missing.
  return { packageManager: names.length === 0 ? 'none' : 'npm', command: null };
}

function nonEmpty(text: string | undefined): string | null {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' ? null : trimmed;
}

/** The first of exports, module, main, index.js that is a file of the tree, or, with a build, may become one. */
function entryOf(packageJson: PackageJson, paths: ReadonlySet<string>, built: boolean): string | null {
  const named = [exportedPath(packageJson.exports), packageJson.module, packageJson.main]
    .filter((path): path is string => typeof path === 'string' && path !== '')
    .map((path) => path.replace(/^\.\//, '').replace(/\/$/, ''))
    .filter(isInnerPath);
  for (const path of [...named, 'index.js', 'index.mjs', 'index.cjs']) {
    const file = [path, `${path}.js`, `${path}.cjs`, `${path}.mjs`, `${path}/index.js`].find((candidate) =>
      paths.has(candidate),
    );
    if (file !== undefined) return file;
  }
  return built ? (named.find((path) => /\.[cm]?js$/.test(path)) ?? null) : null;
}

/** The path that importing the package itself gives, by Node's conditional exports. */
function exportedPath(exports: unknown, depth = 0): string | null {
  if (typeof exports === 'string') return exports.startsWith('./') ? exports : null;
  if (depth > MAX_EXPORTS_DEPTH || typeof exports !== 'object' || exports === null) return null;
  if (Array.isArray(exports)) {
    return (
      exports.map((item: unknown) => exportedPath(item, depth + 1)).find((path) => path !== null) ?? null
    );
  }
  const members = new Map<string, unknown>(Object.entries(exports));
  if (members.has('.')) return exportedPath(members.get('.'), depth + 1);
  for (const condition of CONDITIONS) {
    const path = exportedPath(members.get(condition), depth + 1);
    if (path !== null) return path;
  }
  return null;
}
