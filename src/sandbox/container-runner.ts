/** One command in one fresh hardened container: create, attach, wait, start, watch the limits, read the verdict, always remove. */
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { MountSettings } from 'dockerode';
import { BugError } from '../domain/errors.js';
import type { CommandResult } from '../domain/sandbox.js';
import type { Admission } from './admission.js';
import { createBoundedCapture } from './bounded-capture.js';
import { type ContainerPlan, containerSettings, type SandboxLimits } from './container-settings.js';
import type { Engine } from './engine.js';
import { engineCall, engineError, statusOf } from './engine-errors.js';
import { createFrameDemultiplexer } from './frame-demultiplexer.js';
import { DEADLINE_LABEL, type Naming, type ThingKind } from './names.js';
import { takeMarker, watchedArgv } from './watched-command.js';

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

export const DEFAULT_OUTPUT_BYTES = 65_536;
/** Milliseconds after exit that the output may still need to arrive. */
const DRAIN_MS = 3000;
const HEAP_EXHAUSTED = /heap out of memory|Cannot allocate memory|MemoryError/;

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
          return await watch(container, { ...request, marker }, limits, signal);
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

/** Removes a container with its anonymous volumes; one that is gone or going counts as removed. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  try {
    await container.remove({ force: true, v: true });
  } catch (error) {
    const status = statusOf(error);
    if (status !== 404 && status !== 409) throw engineError(error, 'remove a container');
  }
}

/** Kills a container; one that has ended already is fine. */
export async function killContainer(container: Docker.Container): Promise<void> {
  try {
    await container.kill();
  } catch (error) {
    const status = statusOf(error);
    if (status !== 404 && status !== 409) throw engineError(error, 'kill a container');
  }
}

type Stop = 'timed-out' | 'flooded';

async function watch(
  container: Docker.Container,
  request: ContainerRequest & { readonly marker: string },
  limits: SandboxLimits,
  signal: AbortSignal,
): Promise<CommandResult> {
  const stdout = createBoundedCapture(request.outputBytes ?? DEFAULT_OUTPUT_BYTES);
  const stderr = createBoundedCapture(request.outputBytes ?? DEFAULT_OUTPUT_BYTES);
  let stop: Stop | null = null;
  const end = (reason: Stop | null) => {
    stop ??= reason;
    killContainer(container).catch(() => {});
  };
  const demultiplex = createFrameDemultiplexer({ stdout: stdout.push, stderr: stderr.push });
  const stream = await attach(container, request.stdin !== undefined);
  const drained = new Promise<void>((resolve) => {
    stream
      .once('end', resolve)
      .once('close', resolve)
      .once('error', () => resolve());
  });
  stream.on('data', (chunk: Buffer) => {
    demultiplex(chunk);
    if (stop === null && stdout.totalBytes() + stderr.totalBytes() > limits.floodBytes) end('flooded');
  });

  const exited = container.wait({ condition: 'next-exit' });
  exited.catch(() => {});
  const onAbort = () => end(null);
  signal.addEventListener('abort', onAbort, { once: true });
  const started = performance.now();
  let timer: NodeJS.Timeout | undefined;
  try {
    await container.start();
    if (signal.aborted) end(null);
    timer = setTimeout(() => end('timed-out'), request.timeoutMs);
    if (request.stdin !== undefined) await feed(stream, request.stdin, exited);
    await exited;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
  const wallMs = performance.now() - started;
  await Promise.race([drained, delay(DRAIN_MS)]);
  signal.throwIfAborted();
  const { State: state } = await container.inspect();
  const marked = takeMarker(stderr.finish(), request.marker);
  const output = { stdout: stdout.finish(), stderr: marked.stderr };
  return verdict(stop, { ...state, OOMKilled: state.OOMKilled || marked.found }, wallMs, output);
}

/** Order: timed out, flooded, the engine's out-of-memory flag or the kernel's count (also when only a child died), then what the code and stderr say. */
function verdict(
  stop: Stop | null,
  state: EndState,
  measuredMs: number,
  output: Pick<CommandResult, 'stdout' | 'stderr'>,
): CommandResult {
  const inside = Date.parse(state.FinishedAt) - Date.parse(state.StartedAt);
  const wallMs = Number.isFinite(inside) && inside >= 0 ? inside : measuredMs;
  if (stop !== null) return { outcome: stop, exitCode: null, ...output, wallMs };
  return { ...exitVerdict(state.ExitCode, state.OOMKilled, output.stderr.text), ...output, wallMs };
}

interface EndState {
  readonly OOMKilled: boolean;
  readonly ExitCode: number;
  readonly StartedAt: string;
  readonly FinishedAt: string;
}

/** What an exit code means together with the out-of-memory flag; V8 aborts with 134 and says so on stderr only. */
export function exitVerdict(
  exitCode: number,
  oomKilled: boolean,
  stderr: string,
): Pick<CommandResult, 'outcome' | 'exitCode'> {
  const exhausted = (exitCode === 134 || exitCode === 137) && HEAP_EXHAUSTED.test(stderr);
  if (oomKilled || exhausted) return { outcome: 'out-of-memory', exitCode: null };
  return { outcome: 'exited', exitCode };
}

async function attach(container: Docker.Container, stdin: boolean): Promise<NodeJS.ReadWriteStream> {
  return container.attach(
    stdin
      ? { stream: true, stdin: true, stdout: true, stderr: true, hijack: true }
      : { stream: true, stdout: true, stderr: true },
  );
}

/** Writes stdin and closes it; a command that ends before it read everything is no error. */
async function feed(
  stream: NodeJS.ReadWriteStream,
  stdin: Buffer | string | Readable,
  exited: Promise<unknown>,
): Promise<void> {
  if (typeof stdin === 'string' || Buffer.isBuffer(stdin)) {
    stream.end(stdin);
    return;
  }
  const fed = new Promise<void>((resolve, reject) => {
    stdin.once('error', reject);
    stdin.once('end', () => resolve());
    stream.once('error', () => resolve());
    stdin.pipe(stream);
  });
  try {
    await Promise.race([fed, exited]);
  } catch (error) {
    stream.end();
    throw error;
  } finally {
    stdin.destroy();
  }
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

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
