import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RepositoryCeilings } from '../../src/config/repository-file.js';
import { readRepositorySettings } from '../../src/config/repository-settings.js';
import { HastenError } from '../../src/domain/errors.js';
import type { TreeEntry } from '../../src/domain/repository.js';

const CEILINGS: RepositoryCeilings = {
  attempts: 5,
  budgetUsd: 5,
  timeouts: { installMs: 600_000, buildMs: 300_000, testMs: 300_000, measureMs: 120_000 },
  memoryBytes: 2 * 1024 ** 3,
};

function entry(path: string, size = 10, mode = '100644'): TreeEntry {
  return { path, mode, sha: '0'.repeat(40), size };
}

async function read(options: {
  yaml?: string | Buffer;
  packageJson?: unknown;
  paths?: readonly string[];
  extra?: readonly TreeEntry[];
}) {
  const text =
    options.packageJson === undefined
      ? null
      : typeof options.packageJson === 'string'
        ? options.packageJson
        : JSON.stringify(options.packageJson);
  const files = [
    ...(options.paths ?? []).map((path) => entry(path)),
    ...(text === null ? [] : [entry('package.json', Buffer.byteLength(text))]),
    ...(options.extra ?? []),
  ];
  return readRepositorySettings({
    file: options.yaml === undefined ? null : Buffer.from(options.yaml),
    files,
    read: async (path) => (path === 'package.json' && text !== null ? Buffer.from(text) : null),
    ceilings: CEILINGS,
  });
}

async function failure(options: Parameters<typeof read>[0]): Promise<HastenError> {
  const result = await read(options).then(
    () => null,
    (error: unknown) => error,
  );
  if (result instanceof HastenError) return result;
  throw new Error(`expected one of our errors, got ${String(result)}`);
}

const PACKAGE = { scripts: { test: 'node test.js' }, main: 'index.js' };

describe('settings from the file', () => {
  it('takes every key', async () => {
    const settings = await read({
      yaml: [
        'install: npm ci --foreground-scripts',
        'build: npm run compile',
        'test: node --test',
        'types: npx tsc --noEmit',
        'lint: npx eslint .',
        'format: npx prettier --check .',
        'benchmark: { module: bench/hot.mjs, entry: ./src/hot.js }',
        'entry: src/index.js',
        'allow: ["dist/**"]',
        'attempts: 2',
        'minimumEffect: 8%',
        'memoryGrowth: 50%',
        'approval: before-push',
        'budget: 1.5',
        'timeouts: { install: 60, test: 30 }',
        'memory: 1.5GiB',
      ].join('\n'),
      packageJson: PACKAGE,
      paths: ['bench/hot.mjs', 'package-lock.json'],
    });
    expect(settings).toEqual({
      install: { packageManager: 'npm', command: 'npm ci --foreground-scripts', timeoutMs: 60_000 },
      build: 'npm run compile',
      test: 'node --test',
      checks: { types: 'npx tsc --noEmit', lint: 'npx eslint .', format: 'npx prettier --check .' },
      benchmark: { kind: 'module', module: 'bench/hot.mjs', entry: 'src/hot.js' },
      entry: 'src/index.js',
      allow: ['dist/**'],
      attempts: 2,
      minimumEffect: 0.08,
      memoryGrowth: 0.5,
      approval: 'before-push',
      budgetUsd: 1.5,
      timeouts: { installMs: 60_000, buildMs: 300_000, testMs: 30_000, measureMs: 120_000 },
      memoryBytes: 1.5 * 1024 ** 3,
      origin: 'file',
    });
  });

  it('completes missing keys by detection and reads an empty file as no keys', async () => {
    const settings = await read({ yaml: '', packageJson: PACKAGE, paths: ['index.js', 'yarn.lock'] });
    expect(settings).toMatchObject({
      install: { packageManager: 'yarn', command: null, timeoutMs: 600_000 },
      test: 'yarn test',
      entry: 'index.js',
      origin: 'file',
    });
  });

  it('lists every problem with key, value and what is allowed', async () => {
    const error = await failure({
      yaml: 'attempts: 9\nbudget: 50\napproval: always\nminimumEffect: 70%\nspeed: 1\ntimeouts: { test: 0.5, wait: 1 }\nmemory: 64GiB\nentry: ../x.js',
      packageJson: PACKAGE,
    });
    expect(error.code).toBe('SETTINGS_INVALID');
    expect(error.message.split('\n').slice(1).sort()).toEqual(
      [
        "- attempts is 9; allowed: a whole number from 1 to 5 (the operator's limit)",
        "- budget is 50; allowed: dollars above 0, at most 5 (the operator's limit)",
        '- approval is "always"; allowed: one of auto, before-push, draft, none',
        '- minimumEffect is "70%"; allowed: a number from 0.01 to 0.5, or a percentage from "1%" to "50%"',
        '- speed: unknown key; allowed: install, build, test, types, lint, format, benchmark, entry, allow, attempts, minimumEffect, memoryGrowth, approval, budget, timeouts, memory',
        "- timeouts.test is 0.5; allowed: a whole number of seconds from 1 to 300 (the operator's limit)",
        '- timeouts.wait: unknown key; allowed: install, build, test, measure',
        '- memory is "64GiB"; allowed: a size like "512MiB" or "1GiB", from 128MiB to 2048MiB (the operator\'s limit)',
        '- entry is "../x.js"; allowed: a path from the root of the repository, without "..", "." or a leading "/"',
      ].sort(),
    );
  });

  it.each([
    ['benchmark: { command: ./bench.sh }', { kind: 'command', command: './bench.sh' }],
    [
      'benchmark: { command: go test -bench . ./..., report: go-bench }',
      { kind: 'report', command: 'go test -bench . ./...', format: 'go-bench', file: null },
    ],
    [
      'benchmark: { command: make bench, report: hyperfine, file: /tmp/out/bench.json }',
      { kind: 'report', command: 'make bench', format: 'hyperfine', file: '/tmp/out/bench.json' },
    ],
    [
      'benchmark: { command: make bench, report: jmh, file: build/jmh.json }',
      { kind: 'report', command: 'make bench', format: 'jmh', file: 'build/jmh.json' },
    ],
  ])('takes %s', async (yaml, expected) => {
    expect((await read({ yaml, packageJson: PACKAGE, paths: ['index.js'] })).benchmark).toEqual(expected);
  });

  it.each([
    [
      'benchmark: 7',
      'benchmark is 7; allowed: a map with module and entry, or with command, report and file',
    ],
    [
      'benchmark: {}',
      'benchmark is {}; allowed: a map with module and entry, or with command, report and file',
    ],
    [
      'benchmark: { module: ../b.mjs }',
      'benchmark.module is "../b.mjs"; allowed: a path from the root of the repository, without "..", "." or a leading "/"',
    ],
    [
      'benchmark: { module: b.mjs, entry: /e.js }',
      'benchmark.entry is "/e.js"; allowed: a path from the root of the repository, without "..", "." or a leading "/"',
    ],
    ['benchmark: { module: b.mjs, command: x }', 'benchmark.command is "x"; allowed: nothing beside module'],
    [
      'benchmark: { module: b.mjs, wait: 1 }',
      'benchmark.wait: unknown key; allowed: module, entry; or command, report, file',
    ],
    [
      'benchmark: { command: "" }',
      'benchmark.command is ""; allowed: a command for sh, 1 to 2000 characters',
    ],
    [
      'benchmark: { command: x, report: pprof }',
      'benchmark.report is "pprof"; allowed: one of hyperfine, go-bench,',
    ],
    [
      'benchmark: { command: x, report: jmh, file: /etc/passwd }',
      'benchmark.file is "/etc/passwd"; allowed: a path from the root of the repository, or below /tmp, without ".."',
    ],
    [
      'benchmark: { command: x, report: jmh, file: /tmp/../etc/passwd }',
      'benchmark.file is "/tmp/../etc/passwd"; allowed: a path',
    ],
    [
      'benchmark: { command: x, file: out.json }',
      'benchmark.file is "out.json"; allowed: only together with report',
    ],
    ['benchmark: { entry: e.js }', 'benchmark.entry is "e.js"; allowed: only together with module'],
    ['benchmark: { report: jmh }', 'benchmark.command is missing; allowed: a command for sh'],
    ['types: [tsc]', 'types is ["tsc"]; allowed: a command for sh, 1 to 2000 characters'],
    ['lint: ""', 'lint is ""; allowed: a command for sh, 1 to 2000 characters'],
    ['format: 7', 'format is 7; allowed: a command for sh, 1 to 2000 characters'],
    [
      'memoryGrowth: 900%',
      'memoryGrowth is "900%"; allowed: a number from 0.05 to 5, or a percentage from "5%" to "500%"',
    ],
    [
      'memoryGrowth: 0',
      'memoryGrowth is 0; allowed: a number from 0.05 to 5, or a percentage from "5%" to "500%"',
    ],
  ])('names the key and what is allowed for %s', async (yaml, expected) => {
    const error = await failure({ yaml, packageJson: PACKAGE, paths: ['index.js', 'b.mjs'] });
    const problems = error.message.split('\n').slice(1);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`- ${expected}`);
  });

  it('refuses a benchmark that is not in the commit', async () => {
    const error = await failure({
      yaml: 'benchmark: { module: bench/none.mjs, entry: index.js }',
      packageJson: PACKAGE,
      paths: ['index.js'],
    });
    expect(error.message).toContain('benchmark.module is "bench/none.mjs"');
  });

  it('refuses a benchmark that is a symlink', async () => {
    const error = await failure({
      yaml: 'benchmark: { module: bench/link.mjs, entry: index.js }',
      packageJson: PACKAGE,
      paths: ['index.js'],
      extra: [entry('bench/link.mjs', 10, '120000')],
    });
    expect(error.message).toContain('benchmark.module');
  });

  it.each([
    ['aliases', 'a: &a [x, x]\nb: [*a, *a]'],
    ['a text that is no map', 'just words'],
    ['a list', '- 1'],
    ['equal keys', 'test: a\ntest: b'],
    ['a broken flow', 'allow: ["dist'],
    ['control characters', 'test: "npm\\u0000 test"'],
    ['own tags', 'test: !!js/function "x"'],
    ['a prototype key', '__proto__: { attempts: 1 }'],
    ['brackets nested deeply', '['.repeat(20_000)],
    ['more than 32 KiB', `test: ${'x'.repeat(40_000)}`],
    ['bytes that are not UTF-8', Buffer.from([0x74, 0xff, 0xfe])],
  ])('refuses %s with our own error', async (_, yaml) => {
    const error = await failure({ yaml, packageJson: PACKAGE, paths: ['index.js'] });
    expect(error.code).toBe('SETTINGS_INVALID');
    expect(error.message.length).toBeLessThan(5000);
  });

  it('never throws anything but our own errors and never passes a ceiling, whatever the file says', async () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double(),
      fc.boolean(),
      fc.constantFrom('5%', '99%', '1GiB', '9GiB', 'auto', null),
      fc.array(fc.string()),
      fc.dictionary(
        fc.constantFrom('module', 'entry', 'install', 'test', 'command', 'report', 'file'),
        fc.oneof(fc.string(), fc.integer()),
      ),
    );
    const key = fc.constantFrom(
      'install',
      'build',
      'test',
      'types',
      'lint',
      'format',
      'memoryGrowth',
      'benchmark',
      'entry',
      'allow',
      'attempts',
      'minimumEffect',
      'approval',
      'budget',
      'timeouts',
      'memory',
      'other',
    );
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, value), async (data) => {
        const result = await read({
          yaml: JSON.stringify(data),
          packageJson: PACKAGE,
          paths: ['index.js'],
        }).catch((error: unknown) => error);
        if (result instanceof Error) {
          expect(result).toBeInstanceOf(HastenError);
          return;
        }
        const settings = result as Awaited<ReturnType<typeof read>>;
        expect(settings.attempts).toBeLessThanOrEqual(CEILINGS.attempts);
        expect(settings.budgetUsd).toBeLessThanOrEqual(CEILINGS.budgetUsd);
        expect(settings.memoryBytes).toBeLessThanOrEqual(CEILINGS.memoryBytes);
        expect(settings.timeouts.testMs).toBeLessThanOrEqual(CEILINGS.timeouts.testMs);
        expect(settings.minimumEffect).toBeGreaterThanOrEqual(0.01);
        expect(settings.minimumEffect).toBeLessThanOrEqual(0.5);
      }),
      { numRuns: 300 },
    );
  });

  it('never throws anything but our own errors on any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const result = await read({
          yaml: Buffer.from(bytes),
          packageJson: PACKAGE,
          paths: ['index.js'],
        }).catch((error: unknown) => error);
        if (result instanceof Error) expect(result).toBeInstanceOf(HastenError);
      }),
    );
  });
});

describe('settings by detection', () => {
  it.each([
    [['package-lock.json'], {}, 'npm', 'npm test'],
    [['pnpm-lock.yaml'], {}, 'pnpm', 'pnpm test'],
    [['yarn.lock'], {}, 'yarn', 'yarn test'],
    [['yarn.lock', 'package-lock.json'], { packageManager: 'npm@10.1.0' }, 'npm', 'npm test'],
  ])('reads the package manager from %j', async (paths, fields, packageManager, test) => {
    const settings = await read({ packageJson: { ...PACKAGE, ...fields }, paths: [...paths, 'index.js'] });
    expect(settings.install).toMatchObject({ packageManager, command: null });
    expect(settings.test).toBe(test);
    expect(settings.origin).toBe('detected');
    expect(settings.benchmark).toBeNull();
  });

  it('names npm where dependencies stand without a lockfile, and nothing where there are none', async () => {
    const lockless = await read({ packageJson: { ...PACKAGE, devDependencies: { a: '1.0.0' } } });
    expect(lockless.install).toMatchObject({ packageManager: 'npm', command: null });
    const bare = await read({ packageJson: PACKAGE });
    expect(bare.install).toMatchObject({ packageManager: 'none', command: null });
  });

  it('never drops an install command, whatever was detected', async () => {
    const settings = await read({ yaml: 'install: npm install\ntest: npm test' });
    expect(settings.install).toMatchObject({ packageManager: 'npm', command: 'npm install' });
  });

  it.each([
    [{ typecheck: 'tsc --noEmit' }, { types: 'npm run typecheck' }],
    [{ 'check:types': 'vue-tsc' }, { types: 'npm run check:types' }],
    [{ tsc: 'tsc' }, { types: 'npm run tsc' }],
    [{ lint: 'eslint .' }, { lint: 'npm run lint' }],
    [{ lint: 'eslint . --fix', 'lint:check': 'eslint .' }, { lint: 'npm run lint:check' }],
    [{ lint: 'eslint --fix-dry-run .' }, { lint: 'npm run lint' }],
    [{ lint: 'biome check --write' }, {}],
    [{ lint: 'standard --fix' }, {}],
    [{ lint: 'npm run lint:js', 'lint:js': 'eslint --fix .' }, {}],
    [{ lint: 'run-s lint:*', 'lint:js': 'eslint --fix .' }, {}],
    [{ 'format:check': 'prettier --check .' }, { format: 'npm run format:check' }],
    [{ 'format:check': 'prettier -w .' }, {}],
    [{ format: 'prettier --check .' }, { format: 'npm run format' }],
    [{ format: 'prettier .' }, {}],
    [{ prettier: 'prettier --list-different src' }, { format: 'npm run prettier' }],
    [{ fmt: 'biome format .' }, { format: 'npm run fmt' }],
    [{ lint: '   ' }, {}],
    [{ typecheck: 'tsc --watch' }, {}],
  ])('finds the checks of %j, none that rewrites files or never ends', async (scripts, expected) => {
    const settings = await read({ packageJson: { scripts: { test: 't', ...scripts } } });
    expect(settings.checks).toEqual({ types: null, lint: null, format: null, ...expected });
  });

  it('runs the checks with the package manager of the lockfile, and prefers what the file says', async () => {
    const packageJson = { scripts: { test: 't', lint: 'eslint .', typecheck: 'tsc' } };
    const settings = await read({ yaml: 'lint: make lint', packageJson, paths: ['pnpm-lock.yaml'] });
    expect(settings.checks).toEqual({ types: 'pnpm run typecheck', lint: 'make lint', format: null });
  });

  it("does not count npm's placeholder as a test", async () => {
    const settings = await read({
      packageJson: { scripts: { test: 'echo "Error: no test specified" && exit 1' } },
      paths: ['index.js'],
    });
    expect(settings.test).toBeNull();
  });

  it.each([
    [{ exports: './src/a.js', main: 'index.js' }, ['src/a.js', 'index.js'], 'src/a.js'],
    [
      { exports: { '.': { types: './a.d.ts', import: './a.mjs', require: './a.cjs' } } },
      ['a.mjs', 'a.cjs', 'a.d.ts'],
      'a.mjs',
    ],
    [{ exports: { node: { default: './n.js' }, default: './b.js' } }, ['n.js', 'b.js'], 'n.js'],
    [{ module: 'esm/x.js', main: 'x.js' }, ['esm/x.js', 'x.js'], 'esm/x.js'],
    [{ main: './lib' }, ['lib/index.js'], 'lib/index.js'],
    [{ main: './lib/main' }, ['lib/main.js'], 'lib/main.js'],
    [{}, ['index.js'], 'index.js'],
    [{ main: '../../etc/passwd' }, [], null],
    [{ main: 'dist/x.js' }, [], null],
    [{ main: 'dist/x.js', scripts: { build: 'tsc', test: 't' } }, [], 'dist/x.js'],
  ])('finds the entry of %j', async (fields, paths, expected) => {
    const settings = await read({ packageJson: { scripts: { test: 't' }, ...fields }, paths });
    expect(settings.entry).toBe(expected);
  });

  it('survives exports nested in themselves and fields of wrong types', async () => {
    let nested: unknown = './a.js';
    for (let depth = 0; depth < 200; depth++) nested = { default: nested };
    const settings = await read({
      packageJson: { exports: nested, main: 7, scripts: { test: 't', build: [] }, dependencies: 'x' },
    });
    expect(settings).toMatchObject({ entry: null, build: null, test: 'npm test' });
  });
});

describe('nothing to test or measure', () => {
  it.each([
    ['neither package.json nor file', {}],
    ['no test and no module', { packageJson: {} }],
    ['an empty file beside an empty package.json', { yaml: '', packageJson: {} }],
    ['a package.json that is a symlink', { extra: [entry('package.json', 10, '120000')] }],
  ])('says what is missing and how to set it: %s', async (_, options) => {
    const error = await failure(options);
    expect(error.code).toBe('NOTHING_TO_MEASURE');
    expect(error.message).toContain('.github/hasten.yml');
    expect(error.message).toContain('    test: npm test');
  });

  it('accepts a file without package.json', async () => {
    const settings = await read({ yaml: 'test: make check' });
    expect(settings).toMatchObject({ test: 'make check', install: { packageManager: 'none' } });
  });

  it('names a package.json that cannot be read', async () => {
    const error = await failure({ packageJson: '{ not json' });
    expect(error.code).toBe('SETTINGS_INVALID');
    expect(error.message).toContain('package.json');
  });
});

it('gives an example that is itself valid', async () => {
  const error = await failure({});
  const yaml = error.message.split('\n\n')[1] ?? '';
  const settings = await read({ yaml, paths: ['bench/hot-path.mjs', 'index.js'] });
  expect(settings.benchmark).toEqual({ kind: 'module', module: 'bench/hot-path.mjs', entry: 'index.js' });
});
