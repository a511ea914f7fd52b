/** Whether and when an effect that failed is tried again: pure. */
import { HastenError, PeerError } from '../domain/errors.js';
import type { Lane } from './effect-outbox.js';

/** Failures after which an effect gives up. Telling is cheap and must arrive, so it tries longer. */
const MOST_FAILURES: Record<Lane, number> = { work: 4, tell: 10 };
const FIRST_DELAY_MS = 2000;
const LONGEST_DELAY_MS = 5 * 60 * 1000;
/** A missing Docker engine is waited for, since no attempt of the run is to blame. */
const DOCKER_WAIT_MS = 10_000;

export type Retry =
  | { readonly again: false }
  /** `counts` is false for peers that are waited for. */
  | { readonly again: true; readonly delayMs: number; readonly counts: boolean };

/** `failures` so far without this one; `random` in [0, 1) spreads the retries (full jitter over the upper half). */
export function retryAfter(error: unknown, lane: Lane, failures: number, random: number): Retry {
  if (!(error instanceof HastenError) || !error.retryable) return { again: false };
  if (error.code === 'DOCKER_UNAVAILABLE') return { again: true, delayMs: DOCKER_WAIT_MS, counts: false };
  if (failures + 1 >= MOST_FAILURES[lane]) return { again: false };
  const backoff = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
  const jittered = backoff / 2 + (backoff / 2) * random;
  const asked = error instanceof PeerError ? (error.retryAfterMs ?? 0) : 0;
  return { again: true, delayMs: Math.round(Math.max(jittered, asked)), counts: true };
}
