// A service under test as its own process: started, watched line by line, killed or ended, never left behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

export interface ChildServiceOptions {
  /** Program and arguments. */
  readonly argv: readonly [string, ...string[]];
  /** Added to PATH, HOME, TMPDIR and LANG of this process, nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface LogLine {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LANG'];
const running = new Set<ChildProcess>();

// A test process that ends without closing its services must not leave them behind.
process.on('exit', () => {
  for (const child of running) killGroup(child, 'SIGKILL');
});

export class ChildService {
  readonly #child: ChildProcess;
  readonly #lines: LogLine[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #ended: Promise<void>;
  #exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
    running.add(child);
    for (const stream of ['stdout', 'stderr'] as const) {
      const input = child[stream];
      if (input === null) continue;
      createInterface({ input }).on('line', (text) => {
        this.#lines.push({ stream, text });
        this.#notify();
      });
    }
    this.#ended = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null) => {
        running.delete(child);
        this.#exit = { code, signal };
        this.#notify();
        resolve();
      };
      child.once('close', end);
      child.once('error', (error) => {
        this.#lines.push({ stream: 'stderr', text: error.message });
        end(null, null);
      });
    });
  }

  /** Process id; undefined when the program could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Exit code and signal, once the process has ended. */
  get exit(): { code: number | null; signal: NodeJS.Signals | null } | undefined {
    return this.#exit;
  }

  /** Log lines so far, or those that match. */
  lines(pattern?: RegExp): string[] {
    const texts = this.#lines.map((line) => line.text);
    return pattern === undefined ? texts : texts.filter((text) => pattern.test(text));
  }

  /** Standard output so far. */
  stdout(): string {
    return this.#textOf('stdout');
  }

  /** Standard error so far. */
  stderr(): string {
    return this.#textOf('stderr');
  }

  #textOf(stream: LogLine['stream']): string {
    return this.#lines
      .filter((line) => line.stream === stream)
      .map((line) => `${line.text}\n`)
      .join('');
  }

  /**
   * Waits for a log line from line `after` (0: the first ever) on; rejects with the last lines when the process
   * ends or the time is over.
   */
  async waitForLine(pattern: RegExp, timeoutMs = 30_000, after = 0): Promise<string> {
    const limit = Date.now() + timeoutMs;
    for (;;) {
      const found = this.lines()
        .slice(after)
        .find((text) => pattern.test(text));
      if (found !== undefined) return found;
      if (this.#exit !== undefined) throw new Error(`ended before a line like ${pattern}\n${this.#tail()}`);
      const left = limit - Date.now();
      if (left <= 0) throw new Error(`no line like ${pattern} in ${timeoutMs} ms\n${this.#tail()}`);
      await this.#change(left);
    }
  }

  /** Waits until an address answers with one of these statuses; rejects as `waitForLine` does. */
  async waitForHttp(url: string, timeoutMs = 30_000, statuses: readonly number[] = [200]): Promise<void> {
    const limit = Date.now() + timeoutMs;
    for (;;) {
      const status = await fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
        async (answer) => {
          await answer.body?.cancel();
          return answer.status;
        },
        () => 0,
      );
      if (statuses.includes(status)) return;
      if (this.#exit !== undefined) throw new Error(`ended before ${url} answered\n${this.#tail()}`);
      if (Date.now() > limit)
        throw new Error(`${url} answers ${status} after ${timeoutMs} ms\n${this.#tail()}`);
      await pause(50);
    }
  }

  /** Sends a signal to the process and everything it started, and waits for the end. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#exit === undefined) killGroup(this.#child, signal);
    await this.#ended;
  }

  /** SIGTERM, and SIGKILL after `graceMs`; gives the exit code, null when the process died by a signal. */
  async terminate(graceMs = 15_000): Promise<number | null> {
    if (this.#exit === undefined) this.#child.kill('SIGTERM');
    const grace = new AbortController();
    const late = pause(graceMs, 'late', { signal: grace.signal }).catch(() => 'ended');
    if ((await Promise.race([this.#ended, late])) === 'late') await this.kill();
    grace.abort();
    return this.#exit?.code ?? null;
  }

  /** Waits for the process to end by itself; gives the exit code. Kills it and rejects when the time is over. */
  async waitForExit(timeoutMs = 60_000): Promise<number | null> {
    const limit = new AbortController();
    const late = pause(timeoutMs, 'late', { signal: limit.signal }).catch(() => 'ended');
    if ((await Promise.race([this.#ended, late])) === 'late') {
      await this.kill();
      throw new Error(`still running after ${timeoutMs} ms\n${this.#tail()}`);
    }
    limit.abort();
    return this.#exit?.code ?? null;
  }

  /** Ends the process if it still runs: SIGTERM with a short grace, then SIGKILL. Safe to call twice. */
  async close(): Promise<void> {
    if (this.#exit === undefined) await this.terminate(3_000);
    killGroup(this.#child, 'SIGKILL');
  }

  #tail(): string {
    return this.lines().slice(-40).join('\n');
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Resolves at the next log line or at the end of the process, at the latest after `timeoutMs`. */
  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#listeners.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#listeners.add(done);
    });
  }
}

/** Starts a process in a group of its own, so that `kill` reaches what it has started too. */
export async function startChildService(options: ChildServiceOptions): Promise<ChildService> {
  const [program, ...args] = options.argv;
  const env: Record<string, string> = { ...options.env };
  for (const name of INHERITED) {
    const value = process.env[name];
    if (value !== undefined && env[name] === undefined) env[name] = value;
  }
  const child = spawn(program, args, {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const service = new ChildService(child);
  await Promise.race([once(child, 'spawn'), once(child, 'error').then(([error]) => Promise.reject(error))]);
  return service;
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has ended already.
  }
}
