/** The dependency phase: installs once per key over a copy of the tree, and keeps nothing but the `node_modules` directories. */
import type { MountSettings } from 'dockerode';
import { PeerError, UserError } from '../domain/errors.js';
import type { CommandResult } from '../domain/sandbox.js';
import type { ContainerRunner } from './container-runner.js';
import { type SandboxLimits, volumeMount } from './container-settings.js';
import type { DependencyPlan } from './dependency-plan.js';
import type { FileDrop } from './file-drop.js';
import type { Naming } from './names.js';
import { EGRESS_MOUNT, MIRROR_URL, type RegistryMirror } from './registry-mirror.js';
import type { FilledVolume, VolumeStore } from './volume-store.js';
import { type Lower, UPPER_ENTRIES, type WritableCopies } from './writable-copies.js';

export interface DependencyLayers {
  /** The layer of `plan`, made over `tree` when it is not there. Throws UserError `INSTALL_FAILED`, PeerError `REGISTRY_UNAVAILABLE`. */
  ensure(run: string, plan: DependencyPlan, tree: FilledVolume, signal: AbortSignal): Promise<FilledVolume>;
}

export interface DependencyLayersDeps {
  readonly runner: ContainerRunner;
  readonly volumes: VolumeStore;
  readonly copies: WritableCopies;
  readonly drop: FileDrop;
  readonly naming: Naming;
  readonly limits: SandboxLimits;
  readonly mirror: RegistryMirror;
}

/** Directory of a layer volume that becomes the lower directory of workspaces. */
export const LAYER_DIRECTORY = 'layer';
const CACHE_MOUNT = '/cache';
/** Below the mount, since the volume's own root stays root's. */
const CACHE_DIRECTORY = `${CACHE_MOUNT}/bot`;
const EVIDENCE_CHARACTERS = 3000;
const SHIM = ['node', '/opt/hasten/egress-shim.mjs'];

const ENVIRONMENT = {
  npm_config_registry: MIRROR_URL,
  npm_config_replace_registry_host: 'always',
  npm_config_cache: `${CACHE_DIRECTORY}/npm`,
  npm_config_store_dir: `${CACHE_DIRECTORY}/pnpm`,
  npm_config_manage_package_manager_versions: 'false',
  npm_config_fetch_retries: '2',
  npm_config_fetch_retry_mintimeout: '1000',
  YARN_CACHE_FOLDER: `${CACHE_DIRECTORY}/yarn`,
  YARN_REGISTRY: MIRROR_URL,
  XDG_CACHE_HOME: CACHE_DIRECTORY,
  XDG_DATA_HOME: CACHE_DIRECTORY,
  COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
  COREPACK_NPM_REGISTRY: MIRROR_URL,
};

/** Moves the topmost `node_modules` directories out of what the install wrote; the rest goes. */
const KEEP_NODE_MODULES = `set -eu
cd "$1"
find . -name node_modules -type d -prune -print0 | while IFS= read -r -d '' found; do
  mkdir -p "/ws/${LAYER_DIRECTORY}/\${found%/*}"
  if [ "$2" = move ]; then mv "$found" "/ws/${LAYER_DIRECTORY}/$found"; else cp -a "$found" "/ws/${LAYER_DIRECTORY}/$found"; fi
done
if [ "$2" = move ]; then chmod -R u+rwX . 2>/dev/null || true; find . -mindepth 1 -delete; fi`;

export function createDependencyLayers(deps: DependencyLayersDeps): DependencyLayers {
  const { naming, volumes, copies, drop } = deps;
  return {
    async ensure(run, plan, tree, signal) {
      const mode = await copies.mode();
      const name = naming.volume('dependencies', plan.key, mode);
      const lower: Lower = { volume: tree.name, mountpoint: tree.mountpoint, directory: '' };
      return volumes.ensure({ name, kind: 'dependencies', run: null }, async (mountpoint) => {
        const scratch = naming.volume('layer', run, plan.key, 'scratch');
        const site = naming.volume('workspace', run, plan.key, 'install');
        try {
          await volumes.recreate({ name: scratch, kind: 'layer', run });
          await drop.put(run, [
            { volume: name, entries: new Map([...UPPER_ENTRIES, [LAYER_DIRECTORY, null]]) },
            { volume: scratch, entries: new Map([['bot', null]]) },
          ]);
          if (mode === 'overlay') {
            const driverOptions = async () => copies.driverOptions([lower], mountpoint);
            await volumes.recreate({ name: site, kind: 'workspace', run, driverOptions });
          } else {
            await volumes.recreate({ name: site, kind: 'workspace', run });
            await copies.copy({ run, target: site, lowers: [lower], files: new Map() }, signal);
          }
          const mounts = [volumeMount(site, '/ws'), volumeMount(scratch, CACHE_MOUNT)];
          await install(deps, run, plan, mounts, signal);
          if (plan.rebuild !== null) await rebuild(deps, run, plan, plan.rebuild, mounts, signal);
          // The upper directory may be changed only after the last mount over it is gone.
          if (mode === 'overlay') await volumes.remove(site);
          await keepModules(deps, run, name, mode === 'overlay' ? null : site, signal);
        } finally {
          await volumes.remove(site);
          await volumes.remove(scratch);
        }
      });
    },
  };
}

async function install(
  deps: DependencyLayersDeps,
  run: string,
  plan: DependencyPlan,
  mounts: readonly MountSettings[],
  signal: AbortSignal,
): Promise<void> {
  const session = await deps.mirror.open(plan.allowed);
  try {
    const egress: MountSettings = {
      Type: 'bind',
      Source: session.directory,
      Target: EGRESS_MOUNT,
      ReadOnly: true,
    };
    const result = await deps.runner.run(
      {
        run,
        what: 'install',
        kind: 'command',
        argv: [...SHIM, ...plan.install],
        env: ENVIRONMENT,
        mounts: [...mounts, egress],
        timeoutMs: plan.timeoutMs ?? deps.limits.installTimeoutMs,
        memoryBytes: deps.limits.installMemoryBytes,
      },
      signal,
    );
    if (result.outcome === 'exited' && result.exitCode === 0) return;
    const failure = session.upstreamFailure();
    if (failure !== null) throw registryUnavailable(failure);
    throw installFailed('installing dependencies', result, session.refusals());
  } finally {
    await session.close();
  }
}

async function rebuild(
  deps: DependencyLayersDeps,
  run: string,
  plan: DependencyPlan,
  argv: readonly string[],
  mounts: readonly MountSettings[],
  signal: AbortSignal,
): Promise<void> {
  const result = await deps.runner.run(
    {
      run,
      what: 'rebuild',
      kind: 'command',
      argv,
      env: ENVIRONMENT,
      mounts,
      timeoutMs: plan.timeoutMs ?? deps.limits.installTimeoutMs,
      memoryBytes: deps.limits.installMemoryBytes,
    },
    signal,
  );
  if (result.outcome === 'exited' && result.exitCode === 0) return;
  throw installFailed('running install scripts, which have no network,', result, []);
}

/** `site`: volume that holds the install as a copy, or null when it stands in the layer's own upper directory. */
async function keepModules(
  deps: DependencyLayersDeps,
  run: string,
  layer: string,
  site: string | null,
  signal: AbortSignal,
): Promise<void> {
  const mounts = [volumeMount(layer, '/ws')];
  if (site !== null) mounts.push(volumeMount(site, '/site', { readOnly: true }));
  const result = await deps.runner.run(
    {
      run,
      what: 'keep-modules',
      kind: 'command',
      argv: [
        'bash',
        '-c',
        KEEP_NODE_MODULES,
        'bash',
        ...(site === null ? ['/ws/upper', 'move'] : ['/site', 'copy']),
      ],
      mounts,
      timeoutMs: deps.limits.installTimeoutMs,
    },
    signal,
  );
  if (result.outcome === 'exited' && result.exitCode === 0) return;
  throw installFailed('keeping node_modules', result, []);
}

function installFailed(doing: string, result: CommandResult, refusals: readonly string[]): UserError {
  const how =
    result.outcome === 'exited'
      ? `ended with exit code ${result.exitCode}`
      : `was stopped: ${result.outcome}`;
  const refused =
    refusals.length === 0 ? '' : `\nthe registry mirror refused:\n${refusals.slice(0, 5).join('\n')}`;
  const output = `${result.stdout.text}\n${result.stderr.text}`.trim().slice(-EVIDENCE_CHARACTERS);
  return new UserError({ code: 'INSTALL_FAILED', message: `${doing} ${how}${refused}\n${output}` });
}

function registryUnavailable(failure: string): PeerError {
  return new PeerError({
    code: 'REGISTRY_UNAVAILABLE',
    message: `dependencies could not be fetched from the package registry (${failure})`,
  });
}
