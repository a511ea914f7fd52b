/** Lets work under one key run one after another, so that two callers never build the same volume or fetch at once. */

export interface KeyedQueue {
  /** Runs `work` after everything that was queued under `key` before; its failure is the caller's alone. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

export function createKeyedQueue(): KeyedQueue {
  const tails = new Map<string, Promise<void>>();
  return {
    async run(key, work) {
      const before = tails.get(key) ?? Promise.resolve();
      const result = before.then(work);
      const tail = result.then(
        () => {},
        () => {},
      );
      tails.set(key, tail);
      try {
        return await result;
      } finally {
        if (tails.get(key) === tail) tails.delete(key);
      }
    },
  };
}
