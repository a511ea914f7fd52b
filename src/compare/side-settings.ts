/** How one side is installed, built and measured: its own `.github/hasten.yml`, else what its files say. */
import { detectProject, isRegularFile, parsePackageJson } from '../config/project-detection.js';
import { type RepositoryCeilings, SETTINGS_PATH } from '../config/repository-file.js';
import { readRepositorySettings } from '../config/repository-settings.js';
import { UserError } from '../domain/errors.js';
import type { SourceMirror, TreeEntry } from '../domain/repository.js';
import type { RepositorySettings } from '../domain/settings.js';
import type { Subject } from './compared-subject.js';

/** The subject's commit must be in the mirror. Throws UserError `SETTINGS_INVALID`. */
export async function settingsOf(
  subject: Subject,
  mirror: SourceMirror,
  ceilings: RepositoryCeilings,
): Promise<RepositorySettings> {
  const { repository, commit } = subject;
  const files = await mirror.listFiles(repository, commit);
  const read = (path: string) => mirror.readFile(repository, commit, path);
  const file = await read(SETTINGS_PATH);
  try {
    return await readRepositorySettings({ file, files, read, ceilings });
  } catch (error) {
    // A comparison brings its own benchmark, so that a folder of scripts in any language is enough.
    if (!(error instanceof UserError) || error.code !== 'NOTHING_TO_MEASURE') throw error;
    return plainSettings(files, (await read('package.json'))?.toString('utf8') ?? null, ceilings);
  }
}

function plainSettings(
  files: readonly TreeEntry[],
  packageJson: string | null,
  ceilings: RepositoryCeilings,
): RepositorySettings {
  const manifest = packageJson === null ? null : parsePackageJson(packageJson);
  const detected = detectProject(manifest, files.filter(isRegularFile));
  return {
    install: detected.install,
    build: detected.build,
    test: null,
    checks: detected.checks,
    benchmark: null,
    entry: detected.entry,
    allow: [],
    attempts: 1,
    minimumEffect: 0.05,
    memoryGrowth: 0.2,
    approval: 'none',
    budgetUsd: 0,
    timeouts: ceilings.timeouts,
    memoryBytes: ceilings.memoryBytes,
    origin: 'detected',
  };
}
