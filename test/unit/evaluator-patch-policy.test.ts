import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TreeChange } from '../../src/domain/repository.js';
import { DEFAULT_PATCH_LIMITS, type PatchPolicy, patchRefusals } from '../../src/evaluator/patch-policy.js';
import { matchesGlob } from '../../src/evaluator/path-glob.js';

const policy: PatchPolicy = { allow: [], benchmarkPaths: ['perf/sort.mjs'], limits: DEFAULT_PATCH_LIMITS };
const everything: PatchPolicy = { ...policy, allow: ['**', '**/*', '*'] };

function change(path: string, differences: Partial<TreeChange> = {}): TreeChange {
  return {
    path,
    status: 'modified',
    oldMode: '100644',
    newMode: '100644',
    newSize: 100,
    additions: 3,
    deletions: 1,
    binary: false,
    ...differences,
  };
}

const rules = (changes: readonly TreeChange[], under: PatchPolicy = policy) =>
  patchRefusals(changes, under).map((refusal) => refusal.rule);

describe('the patch policy', () => {
  it('lets source files pass', () => {
    const sources = [
      'index.js',
      'src/bin.js',
      'lib/a/b/c.ts',
      'classes/semver.js',
      'packages/x/src/latest.ts',
    ];
    expect(rules(sources.map((path) => change(path)))).toEqual([]);
    expect(rules([change('src/new.js', { status: 'added', oldMode: null })])).toEqual([]);
    expect(rules([change('src/old.js', { status: 'deleted', newMode: null, newSize: 0 })])).toEqual([]);
    expect(rules([change('src/naïve-日本.js')])).toEqual([]);
  });

  it('refuses a patch that changes nothing', () => {
    expect(rules([])).toEqual(['empty']);
  });

  it.each([
    ['ci', '.github/workflows/ci.yml'],
    ['ci', '.GitHub/workflows/ci.yml'],
    ['ci', 'packages/a/.github/hasten.yml'],
    ['ci', '.circleci/config.yml'],
    ['ci', '.gitlab-ci.yml'],
    ['ci', '.gitattributes'],
    ['ci', '.gitmodules'],
    ['ci', '.npmrc'],
    ['ci', 'src/.eslintrc.json'],
    ['ci', '.husky/pre-commit'],
    ['ci', 'Jenkinsfile'],
    ['ci', 'azure-pipelines.yml'],
    ['lockfile', 'package-lock.json'],
    ['lockfile', 'packages/a/yarn.lock'],
    ['lockfile', 'pnpm-lock.yaml'],
    ['lockfile', 'Cargo.lock'],
    ['manifest', 'package.json'],
    ['manifest', 'sub/Package.JSON'],
    ['manifest', 'pyproject.toml'],
    ['manifest', 'requirements-dev.txt'],
    ['tests', 'test/behaviour.test.mjs'],
    ['tests', 'src/__tests__/a.js'],
    ['tests', 'src/sort.test.ts'],
    ['tests', 'src/sort.spec.js'],
    ['tests', 'pkg/sort_test.go'],
    ['tests', 'test.js'],
    ['tests', 'lib/fixtures/data.json'],
    ['tests', 'src/__snapshots__/a.js.snap'],
    ['tests', 'TEST/x.js'],
    ['benchmark', 'bench/other.mjs'],
    ['benchmark', 'src/sort.bench.ts'],
    ['benchmark', 'perf/sort.mjs'],
    ['benchmark', 'PERF/Sort.mjs'],
    ['tool-config', 'vitest.config.ts'],
    ['tool-config', 'vitest.workspace.ts'],
    ['tool-config', 'tsconfig.build.json'],
    ['tool-config', 'Makefile'],
    ['tool-config', 'Dockerfile'],
    ['tool-config', 'biome.json'],
  ])('refuses %s: %s, whatever the settings allow', (rule, path) => {
    const [refusal, ...others] = patchRefusals([change('src/a.js'), change(path)], policy);
    expect(others).toEqual([]);
    expect(refusal).toMatchObject({ rule, path });
    expect(refusal?.reason).toContain(path);
    expect(rules([change(path)], { ...everything, allow: [...everything.allow, path] })).toEqual([rule]);
  });

  it('refuses build output unless the settings name it', () => {
    for (const path of ['dist/esm/array.mjs', 'build/a.js', 'node_modules/x/index.js', 'a/dist/b.js']) {
      expect(rules([change(path)])).toEqual(['build-output']);
      expect(rules([change(path)], { ...policy, allow: [path] })).toEqual([]);
    }
    expect(rules([change('dist/esm/a.mjs')], { ...policy, allow: ['dist/**'] })).toEqual([]);
    expect(rules([change('dist/esm/a.mjs')], { ...policy, allow: ['dist/*'] })).toEqual(['build-output']);
    expect(rules([change('dist.js')])).toEqual([]);
    expect(rules([change('build')])).toEqual([]);
  });

  it.each([
    '',
    '/etc/passwd',
    '../outside.js',
    'src/../../outside.js',
    'src/./a.js',
    'src//a.js',
    'src/',
    'a\\b.js',
    'src/a\nb.js',
    'src/\u001b[31m.js',
    'src/\u202Egnp.js',
    'src/\u200B.js',
    '.git/hooks/pre-commit',
    'src/.GIT/config',
    '.git./config',
    '.git /config',
    'GIT~1/config',
    '.git::$INDEX_ALLOCATION/x',
    '.g\u200Cit/config',
  ])('refuses the path %j', (path) => {
    expect(rules([change(path)], everything)).toEqual(['path']);
  });

  it('refuses links, submodules, changed modes and binary content', () => {
    expect(rules([change('a', { newMode: '120000' })])).toEqual(['mode']);
    expect(rules([change('a', { status: 'added', oldMode: null, newMode: '160000' })])).toEqual(['mode']);
    expect(rules([change('a', { status: 'deleted', oldMode: '120000', newMode: null })])).toEqual(['mode']);
    expect(rules([change('a.sh', { newMode: '100755' })])).toEqual(['mode']);
    expect(rules([change('a.sh', { oldMode: '100755', newMode: '100755' })])).toEqual([]);
    expect(rules([change('a.wasm', { binary: true })])).toEqual(['binary']);
  });

  it('refuses what is too large', () => {
    const many = Array.from({ length: 41 }, (_, i) => change(`src/f${i}.js`));
    expect(rules(many)).toEqual(['too-many-files']);
    expect(rules([change('src/a.js', { additions: 2000, deletions: 1001 })])).toEqual(['too-many-lines']);
    expect(rules([change('src/a.js', { newSize: 1024 * 1024 + 1 })])).toEqual(['size']);
  });

  it('names every refused path, with nothing in it that could break a terminal or a comment', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary', maxLength: 40 }), { minLength: 1, maxLength: 5 }),
        (paths) => {
          for (const refusal of patchRefusals(
            paths.map((path) => change(path, { binary: true })),
            policy,
          )) {
            expect(refusal.reason).toMatch(/^[\x20-\x7e]+$/);
          }
        },
      ),
    );
  });

  it('refuses any path with a closed folder in it, at any depth and in any case', () => {
    const plain = fc.stringMatching(/^[a-z]{1,8}$/);
    const closed = fc.constantFrom(
      '.github',
      'test',
      '__tests__',
      'fixtures',
      'benchmarks',
      '.circleci',
      '.git',
    );
    const cased = closed.chain((folder) =>
      fc
        .array(fc.boolean(), { minLength: folder.length, maxLength: folder.length })
        .map((upper) => [...folder].map((c, i) => (upper[i] ? c.toUpperCase() : c)).join('')),
    );
    fc.assert(
      fc.property(
        fc.array(plain, { maxLength: 4 }),
        cased,
        fc.array(plain, { minLength: 1, maxLength: 4 }),
        (a, b, c) => {
          expect(rules([change([...a, b, ...c].join('/'))], everything)).not.toEqual([]);
        },
      ),
    );
  });

  it('stays closed however many harmless changes stand around a refused one', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.nat(20), (before, after) => {
        const harmless = (count: number, name: string) =>
          Array.from({ length: count }, (_, i) => change(`src/${name}${i}.js`));
        const changes = [...harmless(before, 'a'), change('.npmrc'), ...harmless(after, 'b')];
        expect(rules(changes)).toContain('ci');
      }),
    );
  });
});

describe('globs of the allow list', () => {
  it.each([
    ['dist/**', 'dist/a/b.js', true],
    ['dist/**', 'dist/a.js', true],
    ['dist/**', 'distant/a.js', false],
    ['**/*.mjs', 'a.mjs', true],
    ['**/*.mjs', 'x/y/a.mjs', true],
    ['*.mjs', 'x/a.mjs', false],
    ['dist/*/a.js', 'dist/esm/a.js', true],
    ['dist/*/a.js', 'dist/esm/b/a.js', false],
    ['a?c.js', 'abc.js', true],
    ['a?c.js', 'ac.js', false],
    ['**', 'any/thing', true],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['a/**/b', 'a/x/y/c', false],
    ['*a*b*', 'xxaxxbxx', true],
    ['*a*b*', 'xxbxxaxx', false],
    ['[ab].js', 'a.js', false],
    ['a.js', 'a-js', false],
  ])('%s on %s', (glob, path, expected) => {
    expect(matchesGlob(path, glob)).toBe(expected);
  });

  it('end quickly on hostile patterns', () => {
    const started = performance.now();
    expect(matchesGlob('a'.repeat(1000), `${'*a'.repeat(100)}b`)).toBe(false);
    expect(matchesGlob('a/'.repeat(300), `${'**/a/'.repeat(40)}b`)).toBe(false);
    expect(performance.now() - started).toBeLessThan(500);
  });

  it('match every path by itself', () => {
    const segment = fc.stringMatching(/^[a-z.]{1,6}$/);
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), (parts) => {
        const path = parts.join('/');
        expect(matchesGlob(path, path)).toBe(true);
        expect(matchesGlob(path, '**')).toBe(true);
        expect(matchesGlob(path, `${path}x`)).toBe(false);
      }),
    );
  });
});
