/** One program on this machine itself, in a session of its own: bounded output, a deadline, and its whole group killed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { PeerError } from '../domain/errors.js';
import type { CommandResult } from '../domain/sandbox.js';
import { createBoundedCapture } from './bounded-capture.js';
import { DEFAULT_OUTPUT_BYTES } from './container-watch.js';
import { killGroup } from './host-leftovers.js';

export interface HostCommand {
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** Added to this process's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Buffer | string;
  readonly timeoutMs: number;
  /** Bytes kept per stream. */
  readonly outputBytes?: number;
  /** Gets the session's id, which is the program's process id. */
  readonly onStart?: (session: number) => void;
}

const FLOOD_BYTES = 64 * 2 ** 20;
/** For output that is still on its way when the program itself has ended. */
const DRAIN_MS = 300;
/** Would change every process that is measured. */
const LEFT_OUT = new Set(['NODE_OPTIONS', 'NODE_V8_COVERAGE']);

/** Runs to the end. Rejects with the signal's reason after an abort, PeerError `PROGRAM_NOT_STARTED` when there is no such program. */
export async function runOnHost(command: HostCommand, signal: AbortSignal): Promise<CommandResult> {
  signal.throwIfAborted();
  const [program = '', ...args] = command.argv;
  const stdout = createBoundedCapture(command.outputBytes ?? DEFAULT_OUTPUT_BYTES);
  const stderr = createBoundedCapture(command.outputBytes ?? DEFAULT_OUTPUT_BYTES);
  const started = performance.now();
  // Detached: a session of its own, so that a signal reaches what the program started as well.
  const child = spawn(program, args, {
    cwd: command.cwd,
    env: environment(command.env),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stop: 'timed-out' | 'flooded' | null = null;
  const kill = () => {
    if (child.pid !== undefined) killGroup(child.pid);
  };
  const capture = (into: typeof stdout) => (chunk: Buffer) => {
    into.push(chunk);
    if (stop === null && stdout.totalBytes() + stderr.totalBytes() > FLOOD_BYTES) {
      stop = 'flooded';
      kill();
    }
  };
  child.stdout.on('data', capture(stdout));
  child.stderr.on('data', capture(stderr));
  child.stdin.on('error', () => {});
  if (child.pid !== undefined) command.onStart?.(child.pid);
  child.stdin.end(command.stdin ?? '');
  signal.addEventListener('abort', kill, { once: true });
  const timer = setTimeout(() => {
    stop ??= 'timed-out';
    kill();
  }, command.timeoutMs);
  try {
    const closed = once(child, 'close');
    closed.catch(() => {});
    const [code] = await once(child, 'exit').catch((cause: unknown) => {
      throw notStarted(program, cause);
    });
    const wallMs = performance.now() - started;
    await Promise.race([closed, sleep(DRAIN_MS)]);
    signal.throwIfAborted();
    const output = { stdout: stdout.finish(), stderr: stderr.finish(), wallMs };
    if (stop !== null) return { outcome: stop, exitCode: null, ...output };
    // Ended by a signal of somebody else: like a shell, 128 and more.
    return { outcome: 'exited', exitCode: typeof code === 'number' ? code : 137, ...output };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** `node` is the one that runs Hasten, whatever the path says. */
function environment(added: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !LEFT_OUT.has(name));
  const path = [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter);
  return { ...Object.fromEntries(kept), PATH: path, CI: '1', ...added };
}

function notStarted(program: string, cause: unknown): PeerError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new PeerError({
    code: 'PROGRAM_NOT_STARTED',
    message: `${program} could not be started on this machine (${reason}); it has to be installed and on PATH`,
    retryable: false,
    cause,
  });
}
