/** One command in one fresh hardened container: create, attach, wait, start, watch the limits, read the verdict, always remove. */
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { MountSettings } from 'dockerode';
import { BugError } from '../domain/errors.js';
import type { CommandResult } from '../domain/sandbox.js';
import type { Admission } from './admission.js';
import { type ContainerPlan, containerSettings, type SandboxLimits } from './container-settings.js';
import { removeContainer, watchContainer } from './container-watch.js';
import type { Engine } from './engine.js';
import { engineCall, engineError, statusOf } from './engine-errors.js';
import { DEADLINE_LABEL, type Naming, type ThingKind } from './names.js';
import { watchedArgv } from './watched-command.js';

export interface ContainerRequest {
  /** Run that the container belongs to. */
  readonly run: string;
  /** Word for its name. */
  readonly what: string;
  readonly kind: ThingKind;
  readonly argv: readonly string[];
  /** Directory below `/ws`, or undefined for the root. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts: readonly MountSettings[];
  readonly stdin?: Buffer | string | Readable;
  readonly timeoutMs: number;
  readonly memoryBytes?: number;
  /** Bytes kept per stream. */
  readonly outputBytes?: number;
}

export interface ContainerRunner {
  /** Waits for a slot, then runs. Throws PeerError `DOCKER_UNAVAILABLE`, or the signal's reason once it aborted. */
  run(request: ContainerRequest, signal: AbortSignal): Promise<CommandResult>;
  /** Creates the container of `plan` under its name; an older one of that name is removed first. */
  create(plan: ContainerPlan): Promise<Docker.Container>;
  /** Name, image, runtime, labels and the command as it stands, for a container of `run`. */
  plan(request: ContainerRequest): Promise<ContainerPlan>;
}

export interface ContainerRunnerDeps {
  readonly engine: Engine;
  readonly naming: Naming;
  readonly limits: SandboxLimits;
  readonly runtime: string;
  /** JSON text of the seccomp profile. */
  readonly seccomp: string;
  readonly admission: Admission;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function createContainerRunner(deps: ContainerRunnerDeps): ContainerRunner {
  const { engine, naming, limits } = deps;
  let count = 0;

  const runner: ContainerRunner = {
    async plan(request) {
      count += 1;
      const deadline = deps.now() + request.timeoutMs + 60_000;
      return {
        name: naming.container(request.run, request.what, count),
        image: await engine.imageId(),
        runtime: deps.runtime,
        seccomp: deps.seccomp,
        labels: { ...naming.labels(request.kind, request.run), [DEADLINE_LABEL]: String(deadline) },
        argv: request.argv,
        env: checkedEnvironment(request.env ?? {}),
        mounts: request.mounts,
        memoryBytes: request.memoryBytes ?? limits.memoryBytes,
        cpuset: null,
        stdin: request.stdin !== undefined,
      };
    },

    async create(plan) {
      const settings = containerSettings(plan, limits, await engine.traits());
      try {
        return await engine.docker.createContainer(settings);
      } catch (error) {
        if (statusOf(error) !== 409) throw engineError(error, 'create a container');
        await removeContainer(engine.docker.getContainer(plan.name));
        return engineCall('create a container', () => engine.docker.createContainer(settings));
      }
    },

    async run(request, signal) {
      const leave = await deps.admission.enter(signal);
      try {
        const marker = randomBytes(8).toString('hex');
        const { argv, cwd, timeoutMs } = request;
        const plan = await runner.plan({ ...request, argv: watchedArgv(argv, { cwd, timeoutMs, marker }) });
        const container = await runner.create(plan);
        try {
          signal.throwIfAborted();
          return await watchContainer(
            container,
            { ...request, marker, floodBytes: limits.floodBytes },
            signal,
          );
        } finally {
          await removeContainer(container);
        }
      } catch (error) {
        signal.throwIfAborted();
        throw engineError(error, 'run a container');
      } finally {
        leave();
      }
    },
  };
  return runner;
}

function checkedEnvironment(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes('\0')) {
      throw new BugError({
        code: 'BAD_ENVIRONMENT_NAME',
        message: `expected a variable name of letters, digits and _, got ${JSON.stringify(name)}`,
      });
    }
  }
  return env;
}
