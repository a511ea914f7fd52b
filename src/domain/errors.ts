/** The small error tree that every floor throws; the engine decides by it whether to retry, tell a person, or stop. */

/** Whose fault a failure is: the person who configured or asked, an outside peer, or Hasten itself. */
export type Fault = 'user' | 'peer' | 'bug';

export interface ErrorDetails {
  /** Stable, upper snake case, for logs and tests. */
  readonly code: string;
  /** What was expected, what came, and what fixes it; safe to show to people (no secrets). */
  readonly message: string;
  readonly cause?: unknown;
}

/** Base of the tree; throw one of the subclasses. */
export abstract class HastenError extends Error {
  readonly code: string;
  abstract readonly fault: Fault;
  /** Whether the same call may succeed later without anybody changing anything. */
  abstract readonly retryable: boolean;

  constructor(details: ErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code;
  }
}

/** Somebody has to change a setting, a repository or a request. */
export class UserError extends HastenError {
  readonly fault = 'user';
  readonly retryable = false;
}

/** An outside peer (GitHub, model, Docker, registry) failed; usually passes by itself. */
export class PeerError extends HastenError {
  readonly fault = 'peer';
  readonly retryable: boolean;
  /** Milliseconds that the peer asked to wait, when it said so. */
  readonly retryAfterMs: number | null;

  constructor(
    details: ErrorDetails & { readonly retryable?: boolean; readonly retryAfterMs?: number | null },
  ) {
    super(details);
    this.retryable = details.retryable ?? true;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

/** An invariant of ours is broken; the run stops and the operator is told. */
export class BugError extends HastenError {
  readonly fault = 'bug';
  readonly retryable = false;
}

/** A model call would pass a money limit; the run pauses with `budget`. */
export class BudgetError extends HastenError {
  readonly fault = 'user';
  readonly retryable = false;
  readonly limit: string;
  readonly limitUsd: number;
  readonly usedUsd: number;

  constructor(
    details: ErrorDetails & { readonly limit: string; readonly limitUsd: number; readonly usedUsd: number },
  ) {
    super(details);
    this.limit = details.limit;
    this.limitUsd = details.limitUsd;
    this.usedUsd = details.usedUsd;
  }
}

/** What of an error is stored with an effect, an attempt or a lesson. */
export interface StoredError {
  readonly code: string;
  readonly fault: Fault;
  readonly retryable: boolean;
  readonly message: string;
}

/** Any thrown value as a `StoredError`; what is not of our tree counts as a bug. */
export function storedError(error: unknown): StoredError {
  if (error instanceof HastenError) {
    return { code: error.code, fault: error.fault, retryable: error.retryable, message: error.message };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'UNEXPECTED', fault: 'bug', retryable: false, message };
}
