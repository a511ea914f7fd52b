/** Lets a fixed number of containers work at once; the rest waits in the order it came. */

export interface Admission {
  /** Waits for a slot; the returned function gives it back. Rejects with the signal's reason while waiting. */
  enter(signal: AbortSignal): Promise<() => void>;
  /** How many wait. */
  waiting(): number;
}

interface Waiter {
  readonly admit: () => void;
}

/** `slots`: containers at once, at least 1. */
export function createAdmission(slots: number): Admission {
  let free = slots;
  const queue: Waiter[] = [];

  const leave = () => {
    const next = queue.shift();
    if (next === undefined) free += 1;
    else next.admit();
  };
  const once = () => {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      leave();
    };
  };

  return {
    enter(signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (free > 0) {
        free -= 1;
        return Promise.resolve(once());
      }
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          const at = queue.indexOf(waiter);
          if (at >= 0) queue.splice(at, 1);
          reject(signal.reason);
        };
        const waiter: Waiter = {
          admit: () => {
            signal.removeEventListener('abort', onAbort);
            resolve(once());
          },
        };
        signal.addEventListener('abort', onAbort, { once: true });
        queue.push(waiter);
      });
    },
    waiting: () => queue.length,
  };
}
