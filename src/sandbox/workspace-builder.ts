/** Makes workspaces: tree volume, dependency layer, a writable view over both, our own files, and a git directory where asked. */
import { BugError, PeerError } from '../domain/errors.js';
import type { SourceMirror } from '../domain/repository.js';
import type { Workspace, WorkspaceSpec } from '../domain/sandbox.js';
import type { ContainerRunner } from './container-runner.js';
import { volumeMount } from './container-settings.js';
import { type DependencyLayers, LAYER_DIRECTORY } from './dependency-layer.js';
import { type DependencyPlan, planDependencies } from './dependency-plan.js';
import type { Engine } from './engine.js';
import type { FileDrop } from './file-drop.js';
import { RAW_ATTRIBUTES } from './git-configuration.js';
import { isSafePath } from './git-patch.js';
import type { Naming } from './names.js';
import type { FilledVolume, VolumeStore } from './volume-store.js';
import { type Lower, UPPER_ENTRIES, type WritableCopies } from './writable-copies.js';

export interface WorkspaceBuilder {
  /** See `Sandbox.prepare`. */
  prepare(spec: WorkspaceSpec, signal: AbortSignal): Promise<Workspace>;
}

export interface WorkspaceBuilderDeps {
  readonly engine: Engine;
  readonly runner: ContainerRunner;
  readonly volumes: VolumeStore;
  readonly copies: WritableCopies;
  readonly layers: DependencyLayers;
  readonly drop: FileDrop;
  readonly naming: Naming;
  readonly mirror: SourceMirror;
}

const FILL_TIMEOUT_MS = 300_000;
/** One commit of exactly the tree: files that the tree tracks although it ignores them are in, dependencies and our files are not. */
const GIT_SCRIPT = `set -eu
rm -rf /ws/.git
git init --quiet /ws
cd /tree
printf '%s' "$HASTEN_ATTRIBUTES" > /ws/.git/info/attributes
printf '%s' "$HASTEN_EXCLUDE" > /ws/.git/info/exclude
git --git-dir=/ws/.git --work-tree=/tree add --all --force .
git --git-dir=/ws/.git --work-tree=/tree commit --quiet --allow-empty --message base
git -C /ws update-index -q --refresh || true`;

export function createWorkspaceBuilder(deps: WorkspaceBuilderDeps): WorkspaceBuilder {
  const { volumes, copies, naming } = deps;

  const fillTree = async (spec: WorkspaceSpec, volume: string, signal: AbortSignal) => {
    const result = await deps.runner.run(
      {
        run: spec.run,
        what: 'tree',
        kind: 'command',
        argv: ['tar', '--extract', '--file=-', '--directory=/ws', '--no-same-owner'],
        mounts: [volumeMount(volume, '/ws', { copyImage: true })],
        stdin: deps.mirror.archive(spec.repository, treeishOf(spec)),
        timeoutMs: FILL_TIMEOUT_MS,
      },
      signal,
    );
    expectSuccess(result, 'unpacking the tree');
  };

  const addGit = async (spec: WorkspaceSpec, workspace: string, tree: string, signal: AbortSignal) => {
    const result = await deps.runner.run(
      {
        run: spec.run,
        what: `${spec.name}-git`,
        kind: 'command',
        argv: ['sh', '-c', GIT_SCRIPT],
        env: {
          HASTEN_ATTRIBUTES: RAW_ATTRIBUTES,
          HASTEN_EXCLUDE: excludeLines([...(spec.overlay?.keys() ?? [])]),
          GIT_AUTHOR_DATE: '1970-01-01T00:00:00Z',
          GIT_COMMITTER_DATE: '1970-01-01T00:00:00Z',
        },
        mounts: [volumeMount(workspace, '/ws'), volumeMount(tree, '/tree', { readOnly: true })],
        timeoutMs: FILL_TIMEOUT_MS,
      },
      signal,
    );
    expectSuccess(result, 'making the git directory');
  };

  return {
    async prepare(spec, signal) {
      const overlay = checkedOverlay(spec.overlay ?? new Map());
      const imageId = await deps.engine.imageId();
      const plan = await planFor(deps.mirror, spec, imageId);
      const mode = await copies.mode();
      const treeName = naming.volume('tree', spec.repository.id, treeishOf(spec));
      const tree = await volumes.ensure({ name: treeName, kind: 'tree', run: null }, () =>
        fillTree(spec, treeName, signal),
      );
      const layer = plan === null ? null : await deps.layers.ensure(spec.run, plan, tree, signal);
      const lowers = lowersOf(layer, tree);
      const identity = [spec.run, spec.name, treeishOf(spec), plan?.key ?? '', mode, describe(spec, overlay)];
      const ref = naming.volume('workspace', ...identity);
      const upper = naming.volume('layer', ...identity);

      const driverOptions = async () => {
        const mountpoint = await volumes.recreate({ name: upper, kind: 'layer', run: spec.run });
        const files = [...overlay].map(([path, content]): [string, Buffer | string] => [
          `upper/${path}`,
          content,
        ]);
        await deps.drop.put(spec.run, [{ volume: upper, entries: new Map([...UPPER_ENTRIES, ...files]) }]);
        return copies.driverOptions(lowers, mountpoint);
      };
      const made = { name: ref, kind: 'workspace', run: spec.run } as const;
      await volumes.ensure(mode === 'overlay' ? { ...made, driverOptions } : made, async () => {
        if (mode === 'copy')
          await copies.copy({ run: spec.run, target: ref, lowers, files: overlay }, signal);
        if (spec.git === true) await addGit(spec, ref, tree.name, signal);
      });
      return { run: spec.run, name: spec.name, ref, dependenciesCached: layer?.found ?? true };
    },
  };
}

function treeishOf(spec: WorkspaceSpec): string {
  return spec.tree ?? spec.baseCommit;
}

async function planFor(
  mirror: SourceMirror,
  spec: WorkspaceSpec,
  imageId: string,
): Promise<DependencyPlan | null> {
  if (spec.install.packageManager === 'none') return null;
  const treeish = treeishOf(spec);
  return planDependencies({
    repositoryId: spec.repository.id,
    imageId,
    install: spec.install,
    files: await mirror.listFiles(spec.repository, treeish),
    read: (path) => mirror.readFile(spec.repository, treeish, path),
  });
}

function lowersOf(layer: FilledVolume | null, tree: FilledVolume): Lower[] {
  const lowers: Lower[] = [{ volume: tree.name, mountpoint: tree.mountpoint, directory: '' }];
  if (layer !== null) {
    lowers.unshift({ volume: layer.name, mountpoint: layer.mountpoint, directory: LAYER_DIRECTORY });
  }
  return lowers;
}

/** Everything else that decides a workspace's content, for its name. */
function describe(spec: WorkspaceSpec, overlay: ReadonlyMap<string, Buffer | string>): string {
  const files = [...overlay].map(([path, content]) => [path, Buffer.from(content).toString('base64')]);
  return JSON.stringify([spec.git === true, files]);
}

function checkedOverlay(overlay: ReadonlyMap<string, Buffer | string>): ReadonlyMap<string, Buffer | string> {
  for (const path of overlay.keys()) {
    if (!isSafePath(path)) {
      throw new BugError({
        code: 'OVERLAY_PATH_NOT_ALLOWED',
        message: `files laid over a tree have paths below its root, got ${JSON.stringify(path)}`,
      });
    }
  }
  return overlay;
}

/** Patterns for `.git/info/exclude`: dependencies, and each of `paths` literally. */
export function excludeLines(paths: readonly string[]): string {
  const literal = paths.map((path) => `/${path.replace(/[\\*?[\]!# ]/g, '\\$&')}`);
  return `${['node_modules', ...literal].join('\n')}\n`;
}

function expectSuccess(
  result: {
    readonly outcome: string;
    readonly exitCode: number | null;
    readonly stderr: { readonly text: string };
  },
  doing: string,
): void {
  if (result.outcome === 'exited' && result.exitCode === 0) return;
  throw new PeerError({
    code: 'WORKSPACE_NOT_FILLED',
    message: `${doing} failed (${result.outcome} ${result.exitCode ?? ''}): ${result.stderr.text.trim().slice(-500)}`,
  });
}
