/** What a failed request to GitHub means: not there (any more), or to be asked again later. */
import { z } from 'zod';
import { PeerError } from '../domain/errors.js';

/** GitHub says that something is not there, or not ours to see. */
export class NotThere extends Error {}

const failureSchema = z.object({
  status: z.number(),
  message: z.string().default(''),
  response: z
    .object({ headers: z.record(z.string(), z.union([z.string(), z.number()]).optional()) })
    .optional(),
});
type Failure = z.infer<typeof failureSchema>;

const GONE: ReadonlySet<number> = new Set([403, 404, 409, 410, 422, 451]);
const SECONDARY_LIMIT_MS = 60_000;
const MAX_MESSAGE_CHARS = 300;

/**
 * The error to throw for a failed request: NotThere for what is gone, forbidden or suspended, PeerError (retryable)
 * for limits, outages and refused credentials. `what` names the request in words, `now` is epoch milliseconds.
 */
export function githubFailure(error: unknown, what: string, now: number): NotThere | PeerError {
  const parsed = failureSchema.safeParse(error);
  if (!parsed.success || parsed.data.status === 500) {
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, MAX_MESSAGE_CHARS);
    return new PeerError({
      code: 'GITHUB_UNREACHABLE',
      message: `GitHub did not answer when asked for ${what}: ${reason}`,
      cause: error,
    });
  }
  const failure = parsed.data;
  const retryAfterMs = limitedFor(failure, now);
  if (retryAfterMs !== null) {
    return new PeerError({
      code: 'GITHUB_RATE_LIMITED',
      message: `GitHub limits the App's requests; it was asked for ${what}.`,
      cause: error,
      retryAfterMs,
    });
  }
  const said = `GitHub answered ${failure.status} when asked for ${what}`;
  if (GONE.has(failure.status)) return new NotThere(said);
  if (failure.status === 401) {
    return new PeerError({
      code: 'GITHUB_CREDENTIALS_REFUSED',
      message: `${said}: APP_ID and PRIVATE_KEY must belong together, and the clock of this machine must be right.`,
      cause: error,
    });
  }
  return new PeerError({
    code: 'GITHUB_FAILED',
    message: `${said}.`,
    cause: error,
    retryAfterMs: waitOf(failure),
  });
}

/** Milliseconds that a rate limit asks to wait; null when the failure is no limit. */
function limitedFor(failure: Failure, now: number): number | null {
  if (failure.status !== 403 && failure.status !== 429) return null;
  const wait = waitOf(failure);
  if (wait !== null) return wait;
  const headers = failure.response?.headers ?? {};
  const reset = Number(headers['x-ratelimit-reset']);
  if (String(headers['x-ratelimit-remaining']) === '0' && Number.isFinite(reset)) {
    return Math.max(1000, reset * 1000 - now);
  }
  return failure.status === 429 || /rate limit/i.test(failure.message) ? SECONDARY_LIMIT_MS : null;
}

function waitOf(failure: Failure): number | null {
  const seconds = Number(failure.response?.headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}
