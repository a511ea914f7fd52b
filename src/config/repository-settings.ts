/** Effective settings of one run: the repository's file, completed by detection, narrowed by the operator's ceilings. */
import { UserError } from '../domain/errors.js';
import type { TreeEntry } from '../domain/repository.js';
import type { InstallSpec } from '../domain/sandbox.js';
import type { RepositorySettings } from '../domain/settings.js';
import { type DetectedProject, detectProject, isRegularFile, parsePackageJson } from './project-detection.js';
import {
  parseRepositoryFile,
  type RepositoryCeilings,
  type RepositoryFile,
  SETTINGS_PATH,
  settingsInvalid,
} from './repository-file.js';

const MAX_PACKAGE_JSON_BYTES = 1024 * 1024;
const DEFAULT_ATTEMPTS = 3;
const DEFAULT_MINIMUM_EFFECT = 0.05;
const DEFAULT_MEMORY_GROWTH = 0.2;

/** What the settings are read from; all of it at the base commit of the default branch. */
export interface RepositorySources {
  /** Content of `.github/hasten.yml`, or null when the repository has none. */
  readonly file: Buffer | null;
  /** Every entry of the commit's tree. */
  readonly files: readonly TreeEntry[];
  /** Content of a regular file of that commit, or null. */
  readonly read: (path: string) => Promise<Buffer | null>;
  readonly ceilings: RepositoryCeilings;
}

/**
 * Reads the effective settings.
 * Throws UserError `SETTINGS_INVALID` (every problem with key, value and what is allowed) or
 * `NOTHING_TO_MEASURE` (what is missing and how to set it).
 */
export async function readRepositorySettings(sources: RepositorySources): Promise<RepositorySettings> {
  const file = sources.file === null ? null : parseRepositoryFile(sources.file, sources.ceilings);
  const detected = await detect(sources, file);
  const settings = merge(file, detected, sources.ceilings);
  refuseMissingFiles(file, settings, sources.files);
  if (settings.test === null && settings.benchmark === null && settings.entry === null) {
    throw nothingToMeasure(
      'There is no test command, no benchmark and no module under test (package.json names no scripts.test and no exports, module or main that exists).',
    );
  }
  return settings;
}

async function detect(sources: RepositorySources, file: RepositoryFile | null): Promise<DetectedProject> {
  const entry = sources.files.find((candidate) => candidate.path === 'package.json');
  if (entry === undefined || !isRegularFile(entry)) {
    if (file === null) {
      throw nothingToMeasure(`There is neither a package.json nor ${SETTINGS_PATH} at the root.`);
    }
    return detectProject(null, sources.files);
  }
  const content = entry.size <= MAX_PACKAGE_JSON_BYTES ? await sources.read('package.json') : null;
  const packageJson = content === null ? null : parsePackageJson(content.toString('utf8'));
  if (packageJson === null) {
    throw settingsInvalid([
      `package.json has ${entry.size} bytes and cannot be read; allowed: a JSON object of at most ${MAX_PACKAGE_JSON_BYTES} bytes`,
    ]);
  }
  return detectProject(packageJson, sources.files);
}

function merge(
  file: RepositoryFile | null,
  detected: DetectedProject,
  ceilings: RepositoryCeilings,
): RepositorySettings {
  const entry = file?.entry ?? moduleOf(file)?.entry ?? detected.entry;
  const installMs = milliseconds(file?.timeouts?.install) ?? ceilings.timeouts.installMs;
  return {
    install: { ...installOf(file, detected.install), timeoutMs: installMs },
    build: file?.build ?? detected.build,
    test: file?.test ?? detected.test,
    checks: {
      types: file?.types ?? detected.checks.types,
      lint: file?.lint ?? detected.checks.lint,
      format: file?.format ?? detected.checks.format,
    },
    benchmark: benchmarkOf(file, entry),
    entry,
    allow: file?.allow ?? [],
    attempts: file?.attempts ?? Math.min(DEFAULT_ATTEMPTS, ceilings.attempts),
    minimumEffect: file?.minimumEffect ?? DEFAULT_MINIMUM_EFFECT,
    memoryGrowth: file?.memoryGrowth ?? DEFAULT_MEMORY_GROWTH,
    approval: file?.approval ?? 'auto',
    budgetUsd: file?.budget ?? ceilings.budgetUsd,
    timeouts: {
      installMs,
      buildMs: milliseconds(file?.timeouts?.build) ?? ceilings.timeouts.buildMs,
      testMs: milliseconds(file?.timeouts?.test) ?? ceilings.timeouts.testMs,
      measureMs: milliseconds(file?.timeouts?.measure) ?? ceilings.timeouts.measureMs,
    },
    memoryBytes: file?.memory ?? ceilings.memoryBytes,
    origin: file === null ? 'detected' : 'file',
  };
}

function installOf(file: RepositoryFile | null, detected: InstallSpec): InstallSpec {
  if (file?.install === undefined) return detected;
  const { packageManager } = detected;
  return { packageManager: packageManager === 'none' ? 'npm' : packageManager, command: file.install };
}

function moduleOf(file: RepositoryFile | null) {
  const benchmark = file?.benchmark;
  return benchmark !== undefined && 'module' in benchmark ? benchmark : undefined;
}

function benchmarkOf(file: RepositoryFile | null, entry: string | null): RepositorySettings['benchmark'] {
  if (file?.benchmark === undefined) return null;
  const { benchmark } = file;
  if ('command' in benchmark) {
    const { command, report, file: reportFile } = benchmark;
    return report === undefined
      ? { kind: 'command', command }
      : { kind: 'report', command, format: report, file: reportFile ?? null };
  }
  const tested = benchmark.entry ?? entry;
  if (tested === null) {
    throw settingsInvalid([
      'benchmark.entry is missing; allowed: the path of the module that the benchmark loads, since package.json names none',
    ]);
  }
  return { kind: 'module', module: benchmark.module, entry: tested };
}

/** A benchmark must be there at the base commit; an entry too, unless a build makes it. */
function refuseMissingFiles(
  file: RepositoryFile | null,
  settings: RepositorySettings,
  files: readonly TreeEntry[],
): void {
  const paths = new Set(files.filter(isRegularFile).map((entry) => entry.path));
  const benchmark = moduleOf(file);
  const named: readonly (readonly [string, string | undefined])[] = [
    ['benchmark.module', benchmark?.module],
    ['benchmark.entry', settings.build === null ? benchmark?.entry : undefined],
    ['entry', settings.build === null ? file?.entry : undefined],
  ];
  const problems = named.flatMap(([key, path]) =>
    path === undefined || paths.has(path)
      ? []
      : [
          `${key} is ${JSON.stringify(path)}; allowed: a regular file of the default branch, and there is none`,
        ],
  );
  if (problems.length > 0) throw settingsInvalid(problems);
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

function nothingToMeasure(what: string): UserError {
  return new UserError({
    code: 'NOTHING_TO_MEASURE',
    message: [
      `Hasten found nothing to test or measure in this repository. ${what}`,
      `Put a file ${SETTINGS_PATH} on the default branch that says how, for example:`,
      '',
      '    install: npm ci',
      '    test: npm test',
      '    entry: index.js',
      '    benchmark:',
      '      module: bench/hot-path.mjs',
      '      entry: index.js',
    ].join('\n'),
  });
}
