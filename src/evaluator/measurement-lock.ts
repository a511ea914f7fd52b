/** Never two measurements at once on the same CPUs: a queue per cpuset for the whole process. */

const queues = new Map<string, Promise<void>>();

/** Runs `work` when every earlier one for the same cpuset has ended; an abort while waiting rejects with its reason. */
export async function withCpus<T>(cpuset: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const before = queues.get(cpuset) ?? Promise.resolve();
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  queues.set(
    cpuset,
    before.then(() => left),
  );
  try {
    await untilAborted(before, signal);
    return await work();
  } finally {
    leave();
  }
}

async function untilAborted(turn: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([turn, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
