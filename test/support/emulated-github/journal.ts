// Every request that reached the emulated GitHub, with its answer, for assertions and for the contract check.
import type { Json } from './json.js';
import type { Principal } from './principals.js';

export interface JournalEntry {
  readonly id: number;
  readonly at: Date;
  readonly method: string;
  /** Decoded path without query, without the mount. */
  readonly path: string;
  readonly query: string;
  /** `/api/v3` or `/api` for a request in GitHub Enterprise Server's form, else empty. */
  readonly mount: string;
  readonly accept: string;
  /** Kind of the caller: `installation` and `app` are the product, `user` is a person. */
  readonly caller: Principal['kind'];
  readonly login: string | undefined;
  /** Permissions of an installation token. */
  readonly permissions: Readonly<Record<string, string>> | undefined;
  readonly requestBody: Json | undefined;
  /** Undefined while the request is being answered, and for an injected hang or drop. */
  status: number | undefined;
  responseBody: Json | undefined;
  /** The injected fault that this request met. */
  fault: string | undefined;
}

export interface JournalQuery {
  readonly method?: string;
  /** Exact path, or a pattern. */
  readonly path?: string | RegExp;
  readonly caller?: Principal['kind'];
}

export class Journal {
  readonly #entries: JournalEntry[] = [];

  /** Adds an entry and returns it, so that the answer can be filled in. */
  open(entry: Omit<JournalEntry, 'id' | 'status' | 'responseBody' | 'fault'>): JournalEntry {
    const id = this.#entries.length + 1;
    const opened = { ...entry, id, status: undefined, responseBody: undefined, fault: undefined };
    this.#entries.push(opened);
    return opened;
  }

  /** The entries so far that match, oldest first. */
  find(query: JournalQuery = {}): JournalEntry[] {
    const { method, path, caller } = query;
    return this.#entries.filter((entry) => {
      if (method !== undefined && entry.method !== method) return false;
      if (caller !== undefined && entry.caller !== caller) return false;
      if (path === undefined) return true;
      return typeof path === 'string' ? entry.path === path : path.test(entry.path);
    });
  }

  /** How many requests are recorded. */
  get length(): number {
    return this.#entries.length;
  }

  /** Forgets everything so far. */
  clear(): void {
    this.#entries.length = 0;
  }
}
