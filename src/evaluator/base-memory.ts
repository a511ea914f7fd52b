/** Remembers what a run found about its base commit, so that later attempts need not find it again. */

/** Whatever is forgotten is only found once more. */
export interface BaseMemory<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
}

const MOST_REMEMBERED = 300;

/** In memory; the oldest entry goes when there are too many. */
export function createBaseMemory<T>(): BaseMemory<T> {
  const known = new Map<string, T>();
  return {
    get: (key) => known.get(key),
    set(key, value) {
      known.set(key, value);
      const [oldest] = known.keys();
      if (known.size > MOST_REMEMBERED && oldest !== undefined) known.delete(oldest);
    },
  };
}
