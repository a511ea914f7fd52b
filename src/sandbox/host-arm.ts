/** An arm of a measurement on this machine itself: each observation is a program in a session of its own, pinned where `taskset` is there. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PeerError } from '../domain/errors.js';
import type { MeasurementArm } from '../domain/sandbox.js';
import { processesOf } from './host-leftovers.js';
import { runOnHost } from './host-process.js';

export interface HostArmOptions {
  /** Absolute path of the side's files. */
  readonly workspace: string;
  /** Absolute path of the harness's files. */
  readonly harness: string;
  /** Words before each program: `taskset -c 1`, or none. */
  readonly pinning: readonly string[];
  readonly signal: AbortSignal;
}

/** A process that has just ended may still be listed for this long. */
const REAPING_MS = 1000;
const REAPING_POLL_MS = 25;
const MARK_NAME = 'HASTEN_ARM';

/** Nothing runs before the first `exec`. The kernel books nothing apart here, so that `cpuMicros` is null. */
export function createHostArm(options: HostArmOptions): MeasurementArm {
  const { workspace, harness, pinning, signal } = options;
  const mark = randomUUID();
  const sessions = new Set<number>();
  let gone: string | null = null;
  const check = () => {
    signal.throwIfAborted();
    if (gone !== null) throw armGone(gone);
  };
  const alive = () => processesOf(sessions, `${MARK_NAME}=${mark}`);

  return {
    paths: { workspace, harness },
    async exec(argv, { timeoutMs, stdin, outputBytes }) {
      check();
      const result = await runOnHost(
        {
          argv: [...pinning, ...argv],
          cwd: workspace,
          env: { [MARK_NAME]: mark },
          timeoutMs,
          onStart: (session) => sessions.add(session),
          ...(stdin === undefined ? {} : { stdin }),
          ...(outputBytes === undefined ? {} : { outputBytes }),
        },
        signal,
      );
      if (result.outcome === 'timed-out') gone = 'a program in it ran into its deadline';
      if (result.outcome === 'flooded') gone = 'a program in it wrote too much';
      return result;
    },
    async leftoverProcesses() {
      check();
      const deadline = performance.now() + REAPING_MS;
      for (;;) {
        const { length } = await alive();
        // Ids of processes are used again, so that those of programs that are over are forgotten.
        if (length === 0) sessions.clear();
        if (length === 0 || performance.now() > deadline) return length;
        await sleep(REAPING_POLL_MS);
      }
    },
    cpuMicros: async () => null,
    async close() {
      gone ??= 'it was closed';
      for (const id of await alive()) kill(id);
    },
  };
}

function kill(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

function armGone(reason: string): PeerError {
  return new PeerError({
    code: 'ARM_GONE',
    message: `this arm is gone because ${reason}; open a new one`,
    retryable: false,
  });
}
