/** Which paths no patch may touch: by their names alone, whatever the case of their letters. */

export interface PathClass {
  readonly name: string;
  /** Ends the sentence "`path` …". */
  readonly because: string;
  /** Whether the settings' `allow` list may name such paths. */
  readonly overridable: boolean;
  readonly matches: (segments: readonly string[], file: string) => boolean;
}

const TEST_FOLDERS = new Set([
  ...['test', 'tests', '__test__', '__tests__', 'spec', 'specs', '__mocks__', 'mocks', 'e2e', 'cypress'],
  ...['fixture', 'fixtures', '__fixtures__', 'testdata', 'test-data', 'test_data', 'testing'],
  ...['snapshot', 'snapshots', '__snapshots__', 'tap-snapshots'],
]);
const BENCHMARK_FOLDERS = new Set(['bench', 'benches', 'benchmark', 'benchmarks', '__benchmarks__']);
const BUILD_FOLDERS = new Set(['dist', 'build', 'out', 'node_modules', 'coverage', 'vendor']);
const LOCKFILES = new Set([
  ...[
    'package-lock.json',
    'npm-shrinkwrap.json',
    'pnpm-lock.yaml',
    'bun.lockb',
    'go.sum',
    'packages.lock.json',
  ],
]);
const MANIFESTS = new Set([
  ...[
    'package.json',
    'package.json5',
    'package.yaml',
    'deno.json',
    'deno.jsonc',
    'bower.json',
    'component.json',
  ],
  ...['jsr.json', 'cargo.toml', 'go.mod', 'go.work', 'pyproject.toml', 'setup.py', 'setup.cfg', 'pipfile'],
  ...['composer.json', 'gemfile', 'pom.xml', 'build.gradle', 'build.gradle.kts', 'pnpm-workspace.yaml'],
]);
const CI_FILES = new Set([
  ...['jenkinsfile', 'appveyor.yml', 'azure-pipelines.yml', 'bitbucket-pipelines.yml', 'buildspec.yml'],
  ...['cloudbuild.yaml', 'cloudbuild.yml', 'wercker.yml', 'netlify.toml', 'vercel.json', 'codecov.yml'],
  ...['codeowners', 'renovate.json'],
]);
const TOOL_FILES = new Set([
  ...['makefile', 'gnumakefile', 'justfile', 'taskfile.yml', 'dockerfile', 'compose.yml', 'compose.yaml'],
  ...['biome.json', 'biome.jsonc', 'nx.json', 'turbo.json', 'lerna.json', 'bunfig.toml', 'tox.ini'],
  ...[
    'pytest.ini',
    'noxfile.py',
    'conftest.py',
    'rollup.config',
    'karma.conf.js',
    'nodemon.json',
    'typedoc.json',
  ],
]);
const TOOL_PATTERNS = [
  /\.(config|conf|setup|preset)\.[^.]+$/,
  /^(ts|js)config([.-].*)?\.json$/,
  /^(gulpfile|gruntfile|jakefile|rakefile|dockerfile|docker-compose)(\..*)?$/,
  /^(vitest|jest|vite|karma|mocha|ava|playwright|cypress)[.-](workspace|global|setup).*\.[^.]+$/,
];

/** In order: the first class that matches names the reason. */
export const PATH_CLASSES: readonly PathClass[] = [
  {
    name: 'ci',
    because: 'is CI or repository configuration',
    overridable: false,
    matches: (segments, file) => isHidden(segments) || CI_FILES.has(file),
  },
  {
    name: 'lockfile',
    because: 'is a lockfile',
    overridable: false,
    matches: (_, file) => LOCKFILES.has(file) || /(^|\.|-)lock$/.test(file),
  },
  {
    name: 'manifest',
    because: 'is a package manifest',
    overridable: false,
    matches: (_, file) => MANIFESTS.has(file) || /^requirements.*\.txt$|\.(gemspec|csproj)$/.test(file),
  },
  {
    name: 'tests',
    because: 'belongs to the tests, their fixtures or snapshots',
    overridable: false,
    matches: (segments, file) => segments.some((each) => TEST_FOLDERS.has(each)) || isTestFile(file),
  },
  {
    name: 'benchmark',
    because: 'belongs to the benchmarks',
    overridable: false,
    matches: (segments, file) =>
      segments.some((each) => BENCHMARK_FOLDERS.has(each)) || isBenchmarkFile(file),
  },
  {
    name: 'tool-config',
    because: 'configures a test runner, a build or another tool',
    overridable: false,
    matches: (_, file) => TOOL_FILES.has(file) || TOOL_PATTERNS.some((pattern) => pattern.test(file)),
  },
  {
    name: 'build-output',
    because:
      'is build output or a dependency; the settings\' "allow" list can name it where it is the source',
    overridable: true,
    matches: (segments) => segments.slice(0, -1).some((each) => BUILD_FOLDERS.has(each)),
  },
];

function isHidden(segments: readonly string[]): boolean {
  return segments.some((segment) => segment.startsWith('.'));
}

function isTestFile(file: string): boolean {
  return (
    /[._-](test|tests|spec|snap)\.[^.]+(\.[^.]+)?$/.test(file) ||
    /^(test|tests|spec|test[._-].*)\.[^.]+$/.test(file) ||
    file.endsWith('.snap')
  );
}

function isBenchmarkFile(file: string): boolean {
  return /(^|[._-])(bench|benchmark|benchmarks)\.[^.]+$/.test(file);
}

/** Why a path is no plain path inside a repository, or null. Git's own names are found in every spelling that file systems take for them. */
export function malformedPath(path: string): string | null {
  if (path === '' || path.length > 1000) return 'is empty or longer than 1000 characters';
  if (path.startsWith('/') || path.includes('\\')) return 'is absolute or has a backslash';
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/u.test(path)) return 'has control or invisible characters';
  const segments = path.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    return 'leaves the repository or has an empty part ("..", ".", "//")';
  }
  return segments.some(isGitFolder) ? 'has a ".git" part' : null;
}

function isGitFolder(segment: string): boolean {
  const plain =
    segment
      .toLowerCase()
      .split(':')[0]
      ?.replace(/[. ]+$/, '') ?? '';
  return plain === '.git' || /^git~\d+$/.test(plain);
}
