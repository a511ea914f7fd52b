/** Watches one container from attach to exit: output, deadline, flood, abort; then reads the verdict. */
import { performance } from 'node:perf_hooks';
import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { CommandResult } from '../domain/sandbox.js';
import { createBoundedCapture } from './bounded-capture.js';
import { engineError, statusOf } from './engine-errors.js';
import { createFrameDemultiplexer } from './frame-demultiplexer.js';
import { takeMarker } from './watched-command.js';

export interface Watch {
  readonly stdin?: Buffer | string | Readable;
  readonly timeoutMs: number;
  /** Bytes kept per stream. */
  readonly outputBytes?: number;
  /** Bytes of output at which it is killed. */
  readonly floodBytes: number;
  /** What the watcher inside writes after a kill for lack of memory. */
  readonly marker: string;
}

export const DEFAULT_OUTPUT_BYTES = 65_536;
/** Milliseconds after exit that the output may still need to arrive. */
const DRAIN_MS = 3000;
const HEAP_EXHAUSTED = /heap out of memory|Cannot allocate memory|MemoryError/;

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

/** Starts a created container and stays until it ended. Rejects with the signal's reason after an abort, when the container is dead. */
export async function watchContainer(
  container: Docker.Container,
  request: Watch,
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
    if (stop === null && stdout.totalBytes() + stderr.totalBytes() > request.floodBytes) end('flooded');
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

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
