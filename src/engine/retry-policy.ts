/** Whether and when an effect that failed is tried again: pure. */
import { HastenError, PeerError } from '../domain/errors.js';
import type { Lane } from './effect-outbox.js';

/** Failures after which an effect gives up. Telling is cheap and must arrive, so it tries longer. */
const MOST_FAILURES: Record<Lane, number> = { work: 4, tell: 10 };
const FIRST_DELAY_MS = 2000;
const LONGEST_DELAY_MS = 5 * 60 * 1000;
/** Waited for without an end, since no attempt is to blame: a missing engine, and the pace of pull requests. The run's deadline bounds it. */
const WAITED_FOR: ReadonlySet<string> = new Set(['DOCKER_UNAVAILABLE', 'PACE_REACHED']);
const WAIT_MS = 10_000;

export type Retry =
  | { readonly again: false }
  /** `counts` is false for peers that are waited for. */
  | { readonly again: true; readonly delayMs: number; readonly counts: boolean };

/** `failures` so far without this one; `random` in [0, 1) spreads the retries (full jitter over the upper half). */
export function retryAfter(error: unknown, lane: Lane, failures: number, random: number): Retry {
  if (!(error instanceof HastenError) || !error.retryable) return { again: false };
  const asked = error instanceof PeerError ? (error.retryAfterMs ?? 0) : 0;
  if (WAITED_FOR.has(error.code)) return { again: true, delayMs: Math.max(asked, WAIT_MS), counts: false };
  if (failures + 1 >= MOST_FAILURES[lane]) return { again: false };
  const backoff = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
  const jittered = backoff / 2 + (backoff / 2) * random;
  return { again: true, delayMs: Math.round(Math.max(jittered, asked)), counts: true };
}
