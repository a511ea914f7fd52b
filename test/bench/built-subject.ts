/** The subject of the overhead benchmark: a published package with a build and a slow test of ours, all of it real CPU work. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type CaseRepository, loadCase, materialise } from '../support/npm-case.js';

const CASE = 'semver-773';
const BUILD = 'node_modules/.bin/tsc -p tsconfig.json';
const TEST = 'node --test test/order.test.mjs';

export interface BuiltSubject {
  readonly files: Map<string, Buffer>;
  readonly fixFiles: Map<string, Buffer>;
  readonly diffFiles: readonly string[];
  readonly issueTitle: string;
  readonly issueBody: string;
  readonly build: string;
  readonly test: string;
  readonly benchmark: { readonly path: string; readonly entry: string };
}

/** Compiles the package's own modules to `dist`, which tests and benchmark then load. */
const TSCONFIG = {
  compilerOptions: {
    allowJs: true,
    checkJs: false,
    declaration: true,
    outDir: 'dist',
    rootDir: '.',
    module: 'commonjs',
    moduleResolution: 'bundler',
    target: 'es2022',
    types: [],
    ignoreDeprecations: '6.0',
  },
  include: ['index.js', 'classes', 'functions', 'internal', 'ranges'],
};

/** Every range against every version, and every version against every other: what a library like this promises. */
const ORDER_TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import semver from '../dist/index.js';

const numbers = [0, 1, 2, 9, 10, 11];
const tails = ['', '-alpha', '-alpha.1', '-beta.2', '-beta.11', '-rc.1'];
const texts = numbers.flatMap((major) =>
  numbers.flatMap((minor) => numbers.flatMap((patch) => tails.map((tail) => \`\${major}.\${minor}.\${patch}\${tail}\`))),
);

test('any text of a version survives parsing and printing', () => {
  for (let round = 0; round < 1100; round += 1)
    for (const text of texts) assert.equal(semver.parse(text).version, text);
});

test('a caret range holds exactly the versions between its bounds', () => {
  const plain = texts.filter((text) => !text.includes('-'));
  for (const low of plain.slice(36)) {
    const range = new semver.Range(\`^\${low}\`);
    const bound = semver.parse(low);
    for (const text of plain) {
      const version = semver.parse(text);
      const isInside =
        version.compare(bound) >= 0 &&
        version.major === bound.major &&
        (bound.major > 0 || (version.minor === bound.minor && (bound.minor > 0 || version.patch === bound.patch)));
      assert.equal(range.test(version), isInside, \`\${text} in ^\${low}\`);
    }
  }
});

test('ranges in words and in signs say the same', () => {
  for (let round = 0; round < 180; round += 1) {
    for (const low of numbers) {
      for (const text of texts) {
        assert.equal(semver.satisfies(text, \`>=\${low}.0.0 <\${low + 2}.0.0\`), semver.satisfies(text, \`\${low} - \${low + 1}\`));
      }
    }
  }
});
`;

/** Makes the repository's files. Needs the package registry unless both versions of the package are cached. */
export async function builtSubject(): Promise<BuiltSubject> {
  const subject = await loadCase(CASE);
  const repository = await materialise(subject);
  const benchmark = { path: repository.benchmarkPath, entry: `dist/${repository.entry}` };
  return {
    files: await withBuild(repository, benchmark),
    fixFiles: repository.fixFiles,
    diffFiles: subject.diff_files,
    issueTitle: repository.issueTitle,
    issueBody: repository.issueBody,
    build: BUILD,
    test: TEST,
    benchmark,
  };
}

const manifestSchema = z.looseObject({ name: z.string(), version: z.string() });
const lockSchema = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({ version: z.string().optional(), integrity: z.string().optional() }),
  ),
});

async function withBuild(
  { files }: CaseRepository,
  benchmark: BuiltSubject['benchmark'],
): Promise<Map<string, Buffer>> {
  const compiler = await ownCompiler();
  const manifest = {
    ...manifestSchema.parse(JSON.parse(files.get('package.json')?.toString('utf8') ?? '')),
    devDependencies: { typescript: compiler.version },
    scripts: { build: BUILD, test: TEST },
  };
  const { name, version, devDependencies } = manifest;
  const root = { name, version, devDependencies };
  const lock = {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { '': root, 'node_modules/typescript': { ...compiler, dev: true } },
  };
  const settings = {
    build: BUILD,
    test: TEST,
    benchmark: { kind: 'module', module: benchmark.path, entry: benchmark.entry },
  };
  const texts: Readonly<Record<string, string>> = {
    'package.json': json(manifest),
    'package-lock.json': json(lock),
    'tsconfig.json': json(TSCONFIG),
    '.gitignore': 'node_modules/\ndist/\n',
    // JSON is YAML.
    '.github/hasten.yml': json(settings),
    'test/order.test.mjs': ORDER_TEST,
  };
  const all = new Map(files);
  all.delete('test/behaviour.test.mjs');
  for (const [path, text] of Object.entries(texts)) all.set(path, Buffer.from(text));
  return all;
}

/** The compiler that this project itself is locked to, so that nothing has to be looked up. */
async function ownCompiler(): Promise<{ readonly version: string; readonly [key: string]: unknown }> {
  const text = await readFile(new URL('../../package-lock.json', import.meta.url), 'utf8');
  const entry = lockSchema.parse(JSON.parse(text)).packages['node_modules/typescript'];
  if (entry?.version === undefined) throw new Error('package-lock.json names no typescript.');
  const { resolved: _, ...rest } = entry;
  return { ...rest, version: entry.version };
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
