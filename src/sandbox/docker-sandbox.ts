/** The Sandbox over a Docker engine; puts the parts of this folder together. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import type { DockerOptions } from 'dockerode';
import { HastenError, PeerError } from '../domain/errors.js';
import type { SourceMirror } from '../domain/repository.js';
import type { Sandbox, SandboxHealth, Workspace } from '../domain/sandbox.js';
import { createAdmission } from './admission.js';
import { type ContainerRunner, createContainerRunner } from './container-runner.js';
import { DEFAULT_LIMITS, type SandboxLimits, volumeMount } from './container-settings.js';
import { removeContainer } from './container-watch.js';
import { createDependencyLayers } from './dependency-layer.js';
import { createEngine, type Engine } from './engine.js';
import { engineError } from './engine-errors.js';
import { createFileDrop } from './file-drop.js';
import { createFillMarks } from './fill-marks.js';
import { createKeyedQueue } from './keyed-queue.js';
import { createMeasurementArm, IDLE_ARGV } from './measurement-arm.js';
import { createNaming } from './names.js';
import { createReaper } from './reaper.js';
import { createRegistryMirror } from './registry-mirror.js';
import { createVolumeStore, type VolumeStore } from './volume-store.js';
import { createWorkspaceBuilder } from './workspace-builder.js';
import { createWritableCopies } from './writable-copies.js';

export interface DockerSandboxOptions {
  /** Where the engine listens; empty for the environment's or the usual socket. */
  readonly docker: DockerOptions;
  readonly imageTag: string;
  /** Name of the engine's runtime: `runc`, `runsc`, … */
  readonly runtime: string;
  /** Id of this installation of Hasten; a label on everything it makes. */
  readonly owner: string;
  /** Directory of this installation on the host, for caches and sockets. */
  readonly dataDir: string;
  readonly mirror: SourceMirror;
  /** The machine's configured npm registry. */
  readonly registryUrl: string;
  /** What differs from `DEFAULT_LIMITS`. */
  readonly limits?: Partial<SandboxLimits>;
  /** Docker cpuset for measurements; default the host's last CPU. */
  readonly measurementCpuset?: string;
  /** Never tries overlay volumes; workspaces are copied. Default false. */
  readonly copyWorkspaces?: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly log: (line: string) => void;
}

export interface DockerSandbox extends Sandbox {
  /** Removes everything of this owner from the engine, caches too: for installations that are thrown away. Returns how much went. */
  purge(): Promise<number>;
}

/** An arm that nobody closed may be removed by anybody after this many milliseconds. */
const ARM_LIFETIME_MS = 4 * 3_600_000;
const SECCOMP_PROFILE = new URL('../../sandbox/seccomp.json', import.meta.url);

/** Makes the adapter; the engine is not asked before the first call. */
export function createDockerSandbox(options: DockerSandboxOptions): DockerSandbox {
  const { now } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const dataDir = resolve(options.dataDir);
  const directory = join(dataDir, 'sandbox');
  const naming = createNaming(options.owner);
  const engine = createEngine(options.docker, options.imageTag, now);
  const { docker } = engine;
  const marks = createFillMarks(join(directory, 'marks'));
  const volumes = createVolumeStore({ docker, naming, marks, queue: createKeyedQueue(), now });
  const admission = createAdmission(limits.containers);
  const seccomp = JSON.stringify(JSON.parse(readFileSync(SECCOMP_PROFILE, 'utf8')));
  const runner = createContainerRunner({
    engine,
    naming,
    limits,
    runtime: options.runtime,
    seccomp,
    admission,
    now,
  });
  const drop = createFileDrop(engine, naming, now);
  const registry = createRegistryMirror({ registryUrl: options.registryUrl, dataDir });
  const copyOnly = options.copyWorkspaces ?? false;
  const copies = createWritableCopies({ engine, runner, volumes, drop, naming, directory, copyOnly });
  const layers = createDependencyLayers({ runner, volumes, copies, drop, naming, limits, mirror: registry });
  const builder = createWorkspaceBuilder({
    engine,
    runner,
    volumes,
    copies,
    layers,
    drop,
    naming,
    mirror: options.mirror,
  });
  const reaper = createReaper({ docker, owner: options.owner, volumes, marks, now });

  return {
    check: () => check(engine, options.runtime),
    async prepare(spec, signal) {
      const started = now();
      const workspace = await builder.prepare(spec, signal);
      options.log(`sandbox: workspace ${spec.run}/${spec.name} ready after ${now() - started} ms`);
      return workspace;
    },
    async run(workspace, command, signal) {
      await expectWorkspace(volumes, workspace);
      return runner.run(
        {
          ...command,
          run: workspace.run,
          what: workspace.name,
          kind: 'command',
          mounts: [volumeMount(workspace.ref, '/ws', { readOnly: command.readOnlyWorkspace ?? false })],
        },
        signal,
      );
    },
    async openArm(workspace, { cpuset }, signal) {
      await expectWorkspace(volumes, workspace);
      const container = await startArm(runner, workspace, cpuset, signal);
      try {
        signal.throwIfAborted();
        return await createMeasurementArm({ docker, container, limits, admission, signal });
      } catch (error) {
        await removeContainer(container);
        throw error;
      }
    },
    measurementCpuset: () => options.measurementCpuset ?? String(availableParallelism() - 1),
    async discard(run) {
      await reaper.discard(run);
    },
    purge: () => reaper.purge(),
    async reap(keep) {
      await registry.sweep();
      const removed = await reaper.reap(keep);
      if (removed > 0)
        options.log(`sandbox: removed ${removed} containers and volumes that were left behind`);
      return removed;
    },
  };
}

async function startArm(runner: ContainerRunner, workspace: Workspace, cpuset: string, signal: AbortSignal) {
  const plan = await runner.plan({
    run: workspace.run,
    what: `${workspace.name}-arm`,
    kind: 'arm',
    argv: IDLE_ARGV,
    mounts: [volumeMount(workspace.ref, '/ws', { readOnly: true })],
    timeoutMs: ARM_LIFETIME_MS,
  });
  signal.throwIfAborted();
  const container = await runner.create({ ...plan, cpuset });
  try {
    await container.start();
    return container;
  } catch (error) {
    await removeContainer(container);
    throw engineError(error, 'start an arm');
  }
}

/** Docker would make an empty volume of that name in silence. */
async function expectWorkspace(volumes: VolumeStore, workspace: Workspace): Promise<void> {
  if (await volumes.exists(workspace.ref)) return;
  throw new PeerError({
    code: 'WORKSPACE_GONE',
    message: `the workspace ${workspace.run}/${workspace.name} does not exist any more; prepare it again`,
    retryable: true,
  });
}

async function check(engine: Engine, runtime: string): Promise<SandboxHealth> {
  engine.forget();
  try {
    const facts = await engine.traits();
    if (!facts.runtimes.includes(runtime)) {
      const known = facts.runtimes.join(', ');
      const detail = `the Docker engine knows the runtimes ${known}, not ${runtime}; register it or choose another`;
      return { ok: false, detail, imageId: null, runtime };
    }
    const imageId = await engine.imageId();
    const detail = `Docker ${facts.version}, ${facts.cpus} CPUs, cgroup v${facts.cgroupVersion}, runtime ${runtime}`;
    return { ok: true, detail, imageId, runtime };
  } catch (error) {
    if (!(error instanceof HastenError)) throw error;
    return { ok: false, detail: error.message, imageId: null, runtime };
  }
}
