/** Runs the host's git for the mirror: argv only, fixed configuration, no prompts, bounded output and time. */
import { spawn } from 'node:child_process';
import { PassThrough, type Readable } from 'node:stream';
import { PeerError } from '../domain/errors.js';
import { gitEnvironment } from './git-configuration.js';

export interface GitCall {
  /** Arguments after `git`. */
  readonly argv: readonly string[];
  readonly gitDir: string;
  /** Another repository's directory to look into instead of `gitDir`. */
  readonly elsewhere?: string;
  readonly stdin?: Buffer | string;
  /** Added to the fixed environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Bytes of stdout kept; more fails the call. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export interface GitResult {
  readonly code: number;
  readonly stdout: Buffer;
  /** Last 8 KiB. */
  readonly stderr: string;
}

const STDERR_BYTES = 8192;
const DEFAULT_MAX_BYTES = 64 * 2 ** 20;
/** Runs git to its end. Throws PeerError `GIT_TIMED_OUT`, `GIT_OUTPUT_TOO_LARGE` or `GIT_UNAVAILABLE`; a non-zero exit is a result. */
export function runGit(configurationFile: string, call: GitCall): Promise<GitResult> {
  const maxBytes = call.maxBytes ?? DEFAULT_MAX_BYTES;
  return new Promise((resolve, reject) => {
    const child = spawn('git', [...placeOf(call), ...call.argv], {
      env: gitEnvironment(configurationFile, process.env, call.env),
      cwd: '/',
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: call.timeoutMs,
      killSignal: 'SIGKILL',
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let stderr = '';
    let tooLarge = false;
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        tooLarge = true;
        child.kill('SIGKILL');
        return;
      }
      chunks.push(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-STDERR_BYTES);
    });
    // EPIPE when git ends before it read everything; its exit code tells.
    child.stdin.on('error', () => {});
    child.on('error', (cause) => reject(startFailure(call, cause)));
    child.on('close', (code, signal) => {
      if (tooLarge) reject(outputTooLarge(call, maxBytes));
      else if (signal !== null) reject(stopped(call, signal));
      else resolve({ code: code ?? -1, stdout: Buffer.concat(chunks), stderr });
    });
    child.stdin.end(call.stdin ?? '');
  });
}

/** Starts git and gives its stdout; the stream fails when git does. */
export function streamGit(configurationFile: string, call: GitCall): Readable {
  const child = spawn('git', [...placeOf(call), ...call.argv], {
    env: gitEnvironment(configurationFile, process.env, call.env),
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: call.timeoutMs,
    killSignal: 'SIGKILL',
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-STDERR_BYTES);
  });
  // Piped at once: Node throws away what nobody reads when a child ends.
  const output = child.stdout.pipe(new PassThrough(), { end: false });
  child.on('error', (cause) => output.destroy(startFailure(call, cause)));
  child.on('close', (code, signal) => {
    if (code === 0) {
      output.end();
    } else {
      output.destroy(
        new PeerError({
          code: 'GIT_FAILED',
          message: `git ${call.argv[0]} ended with ${code ?? signal}: ${lastLines(stderr)}`,
          retryable: false,
        }),
      );
    }
  });
  output.on('close', () => child.kill('SIGKILL'));
  return output;
}

/** The last lines of git's stderr, on one line, without control characters. */
export function lastLines(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return lines
    .slice(-6)
    .join(' | ')
    .replace(/\p{Cc}/gu, '?')
    .slice(0, 1000);
}

function placeOf(call: GitCall): readonly string[] {
  return call.elsewhere === undefined ? ['--git-dir', call.gitDir] : ['-C', call.elsewhere];
}

function startFailure(call: GitCall, cause: Error): Error {
  if (call.signal?.aborted === true) return cause;
  return new PeerError({
    code: 'GIT_UNAVAILABLE',
    message: `git could not be started (${cause.message}); it has to be installed and on PATH`,
    cause,
  });
}

function outputTooLarge(call: GitCall, maxBytes: number): PeerError {
  return new PeerError({
    code: 'GIT_OUTPUT_TOO_LARGE',
    message: `git ${call.argv[0]} wrote more than ${maxBytes} bytes; the repository is larger than Hasten reads`,
    retryable: false,
  });
}

function stopped(call: GitCall, signal: string): PeerError {
  return new PeerError({
    code: 'GIT_TIMED_OUT',
    message: `git ${call.argv[0]} was stopped by ${signal} after at most ${call.timeoutMs} ms`,
  });
}
