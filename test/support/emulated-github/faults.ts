// Faults on demand: the next requests that match are refused, left hanging, or lose their answer.

/** What happens to a request that meets a fault. */
export type FaultEffect =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly message?: string;
    }
  /** Never answered; the effect does not happen. The connection ends when the caller gives up or the rig closes. */
  | { readonly kind: 'hang' }
  /** The connection is cut before the request has any effect. */
  | { readonly kind: 'drop-before-effect' }
  /** The request has its effect, then the connection is cut without an answer. */
  | { readonly kind: 'drop-after-effect' }
  /** Answered as usual, after so many milliseconds. */
  | { readonly kind: 'delay'; readonly milliseconds: number };

export interface Fault {
  /** Any method when left out. */
  readonly method?: string;
  /** Exact path without `/api/v3`, or a pattern. */
  readonly path: string | RegExp;
  /** How many requests meet the fault; 1 when left out, Infinity until removed. */
  readonly times?: number;
  /** How many matching requests pass before the first one meets the fault; 0 when left out. */
  readonly skip?: number;
  readonly effect: FaultEffect;
}

export interface InjectedFault {
  /** How many requests have met the fault. */
  hits(): number;
  remove(): void;
}

interface Armed {
  readonly fault: Fault;
  seen: number;
  hits: number;
}

export class Faults {
  readonly #armed = new Set<Armed>();

  /** Arms a fault; faults armed earlier are met first. */
  inject(fault: Fault): InjectedFault {
    const armed: Armed = { fault, seen: 0, hits: 0 };
    this.#armed.add(armed);
    return { hits: () => armed.hits, remove: () => this.#armed.delete(armed) };
  }

  /** The fault that a request meets, counted as a hit. */
  meet(method: string, path: string): FaultEffect | undefined {
    for (const armed of this.#armed) {
      const { fault } = armed;
      if (fault.method !== undefined && fault.method !== method) continue;
      const matches = typeof fault.path === 'string' ? fault.path === path : fault.path.test(path);
      if (!matches || armed.hits >= (fault.times ?? 1)) continue;
      armed.seen += 1;
      if (armed.seen <= (fault.skip ?? 0)) continue;
      armed.hits += 1;
      return fault.effect;
    }
    return undefined;
  }

  clear(): void {
    this.#armed.clear();
  }
}
