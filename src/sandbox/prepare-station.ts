/** The first work of a run: brings the base commit to the host and reads the repository's settings from it. */
import type { Station } from '../domain/effect.js';
import type { SourceMirror, TreeEntry } from '../domain/repository.js';
import type { Sandbox } from '../domain/sandbox.js';
import type { RepositorySettings } from '../domain/settings.js';

export interface SettingsSource {
  /** Content of `.github/hasten.yml`, or null. */
  readonly file: Buffer | null;
  readonly files: readonly TreeEntry[];
  /** Content of any regular file at the base commit, or null. */
  readonly read: (path: string) => Promise<Buffer | null>;
}

export interface PrepareStationDeps {
  readonly mirror: SourceMirror;
  readonly sandbox: Sandbox;
  /** Validates and narrows; throws UserError that says what is missing and how to set it. */
  readonly readSettings: (source: SettingsSource) => Promise<RepositorySettings>;
}

/** The planner asks for a workspace of exactly this kind; another one would only be made a second time. */
const PLANNED_WORKSPACE = 'plan';
const SETTINGS_FILE = '.github/hasten.yml';

/** Answers PREPARED. Makes the workspace that planning sees, so that dependencies are there before a model is paid. Throws UserError on settings and `INSTALL_FAILED`, PeerError on fetching and Docker. */
export function createPrepareStation(deps: PrepareStationDeps): Station<'prepare'> {
  const { mirror, sandbox } = deps;
  return async (effect, context) => {
    const { repository } = effect;
    const { run } = effect.payload;
    const { baseCommit } = run.trigger;
    context.progress(`fetching ${repository.owner}/${repository.name} at ${baseCommit.slice(0, 12)}`);
    await mirror.fetch(repository, baseCommit, context.signal);
    const settings = await deps.readSettings({
      file: await mirror.readFile(repository, baseCommit, SETTINGS_FILE),
      files: await mirror.listFiles(repository, baseCommit),
      read: (path) => mirror.readFile(repository, baseCommit, path),
    });
    const { install } = settings;
    context.progress(
      install.packageManager === 'none'
        ? 'laying out the files'
        : `installing dependencies with ${install.packageManager}`,
    );
    const plan = {
      run: run.id,
      name: PLANNED_WORKSPACE,
      repository,
      baseCommit,
      tree: null,
      install,
      git: true,
    };
    const workspace = await sandbox.prepare(plan, context.signal);
    context.progress(
      workspace.dependenciesCached ? 'workspace ready' : 'workspace ready, dependencies installed',
    );
    return { type: 'PREPARED', settings };
  };
}
