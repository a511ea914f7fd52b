/** One container per arm of a measurement: idle under init, workspace read-only, pinned; each observation is an exec in it. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { PeerError } from '../domain/errors.js';
import type { CommandResult, MeasurementArm } from '../domain/sandbox.js';
import type { Admission } from './admission.js';
import { createBoundedCapture } from './bounded-capture.js';
import type { SandboxLimits } from './container-settings.js';
import { DEFAULT_OUTPUT_BYTES, exitVerdict, killContainer, removeContainer } from './container-watch.js';
import { createCpuClock } from './cpu-time.js';
import { engineCall, engineError } from './engine-errors.js';
import { createFrameDemultiplexer } from './frame-demultiplexer.js';
import { createProcessList } from './process-list.js';

export interface ArmDeps {
  readonly docker: Docker;
  /** Started already. */
  readonly container: Docker.Container;
  readonly limits: SandboxLimits;
  readonly admission: Admission;
  /** Aborts kill the container. */
  readonly signal: AbortSignal;
}

/** Program that keeps an arm open; with init above it these are all processes of an arm at rest. */
export const IDLE_ARGV = ['sleep', 'infinity'] as const;

/** Where a container has them: the workspace's mount, and what the image brings. */
const ARM_PATHS = {
  workspace: '/ws',
  harness: '/opt/hasten/harness',
  scratch: ['/tmp', '/dev/shm'],
} as const;

/** Seldom, so that asking does not disturb what is measured. */
const OPEN_OUTPUT_POLL_MS = 1000;
const OPEN_OUTPUT_DRAIN_MS = 300;

/** Init and the idle program; init starts the second one a moment after the container counts as started. */
const RESTING_PROCESSES = 2;
/** A process that has just ended may still be listed for this long. */
const REAPING_MS = 1000;
const REAPING_POLL_MS = 50;

/** Wraps a started container; the processes that stand in it before the first exec are its own. */
export async function createMeasurementArm(deps: ArmDeps): Promise<MeasurementArm> {
  const { container } = deps;
  let gone: string | null = null;
  const kill = async (reason: string) => {
    gone ??= reason;
    await killContainer(container).catch(() => {});
  };
  const onAbort = () => void kill('the run was stopped');
  deps.signal.addEventListener('abort', onAbort, { once: true });
  const check = () => {
    deps.signal.throwIfAborted();
    if (gone !== null) throw armGone(gone);
  };
  const processes = await createProcessList(container);
  const processIds = () => engineCall('list the processes of an arm', () => processes.read());
  const resting = new Set(await settle(processIds, (found) => found.length >= RESTING_PROCESSES));
  const leftovers = async () => (await processIds()).filter((id) => !resting.has(id));

  const clock = await createCpuClock(container);

  return {
    paths: ARM_PATHS,
    async exec(argv, options) {
      check();
      const leave = await deps.admission.enter(deps.signal);
      try {
        check();
        const result = await observe(deps, argv, options, kill);
        deps.signal.throwIfAborted();
        return result;
      } catch (error) {
        deps.signal.throwIfAborted();
        if (gone !== null && !(error instanceof PeerError)) throw armGone(gone);
        throw engineError(error, 'run a program in an arm');
      } finally {
        leave();
      }
    },
    async leftoverProcesses() {
      check();
      return (await settle(leftovers, (found) => found.length === 0)).length;
    },
    async cpuMicros() {
      check();
      return engineCall('read the CPU time of an arm', () => clock.read());
    },
    async close() {
      gone ??= 'it was closed';
      deps.signal.removeEventListener('abort', onAbort);
      await removeContainer(container);
    },
  };
}

/** Asks until the answer is as wanted or the time is up; gives the last answer. */
async function settle<T>(ask: () => Promise<T>, isSettled: (answer: T) => boolean): Promise<T> {
  const deadline = performance.now() + REAPING_MS;
  for (;;) {
    const answer = await ask();
    if (isSettled(answer) || performance.now() > deadline) return answer;
    await sleep(REAPING_POLL_MS);
  }
}

async function observe(
  deps: ArmDeps,
  argv: readonly string[],
  options: Parameters<MeasurementArm['exec']>[1],
  kill: (reason: string) => Promise<void>,
): Promise<CommandResult> {
  const withStdin = options.stdin !== undefined;
  const exec = await deps.container.exec({
    Cmd: [...argv],
    AttachStdin: withStdin,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    WorkingDir: ARM_PATHS.workspace,
  });
  const outputBytes = options.outputBytes ?? DEFAULT_OUTPUT_BYTES;
  const stdout = createBoundedCapture(outputBytes);
  const stderr = createBoundedCapture(outputBytes);
  const demultiplex = createFrameDemultiplexer({ stdout: stdout.push, stderr: stderr.push });
  let stop: 'timed-out' | 'flooded' | null = null;
  const started = performance.now();
  const stream = await exec.start({ hijack: true, stdin: withStdin });
  const ended = new Promise<void>((resolve) => {
    stream
      .once('end', resolve)
      .once('close', resolve)
      .once('error', () => resolve());
  });
  stream.on('data', (chunk: Buffer) => {
    demultiplex(chunk);
    if (stop === null && stdout.totalBytes() + stderr.totalBytes() > deps.limits.floodBytes) {
      stop = 'flooded';
      void kill('a program in it wrote too much');
    }
  });
  const timer = setTimeout(() => {
    stop ??= 'timed-out';
    void kill('a program in it ran into its deadline');
  }, options.timeoutMs);
  try {
    if (options.stdin !== undefined) stream.end(options.stdin);
    await Promise.race([ended, exitedWithOpenOutput(exec, () => stop !== null)]);
  } finally {
    clearTimeout(timer);
    stream.destroy();
  }
  const wallMs = performance.now() - started;
  const output = { stdout: stdout.finish(), stderr: stderr.finish(), wallMs };
  if (stop !== null) return { outcome: stop, exitCode: null, ...output };
  const code = await exitCodeOf(exec);
  // Nobody else kills in an arm, and engines do not tell which program of a container was out of memory.
  return { ...exitVerdict(code, code === 137, output.stderr.text), ...output };
}

/** Resolves a moment after the program itself ended, although a child of it still holds its output open. */
async function exitedWithOpenOutput(exec: Docker.Exec, stopped: () => boolean): Promise<void> {
  while (!stopped()) {
    await delay(OPEN_OUTPUT_POLL_MS);
    const state = await exec.inspect();
    if (!state.Running) break;
  }
  await delay(OPEN_OUTPUT_DRAIN_MS);
}

/** The engine closes the stream a moment before it notes the exit code. */
async function exitCodeOf(exec: Docker.Exec): Promise<number> {
  for (let tries = 0; tries < 200; tries += 1) {
    const state = await exec.inspect();
    if (!state.Running && state.ExitCode !== null) return state.ExitCode;
    await delay(Math.min(5 + tries, 25));
  }
  throw armGone('a program in it never ended');
}

function armGone(reason: string): PeerError {
  return new PeerError({
    code: 'ARM_GONE',
    message: `the container of this arm is gone because ${reason}; open a new one`,
    retryable: false,
  });
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
