/** GitHub's refusals as our own errors: what passes by itself, what a person has to change, what is a bug. */
import { z } from 'zod';
import { BugError, HastenError, PeerError, UserError } from '../domain/errors.js';

const MAX_RETRY_AFTER_MS = 60 * 60 * 1000;
const SECONDARY_LIMIT_WAIT_MS = 60_000;

/** What octokit's RequestError holds, checked instead of trusted: it comes from the network. */
const requestErrorSchema = z.object({
  name: z.literal('HttpError'),
  status: z.number(),
  message: z.string(),
  response: z
    .object({ headers: z.record(z.string(), z.unknown()).catch({}), data: z.unknown() })
    .optional()
    .catch(undefined),
});
type RequestFailure = z.infer<typeof requestErrorSchema>;

const graphErrorSchema = z.object({
  name: z.literal('GraphqlResponseError'),
  errors: z.array(z.object({ type: z.string().optional(), message: z.string() })).min(1),
});

export interface CallWords {
  /** What was tried, as in `create the branch`. */
  readonly what: string;
  /** Permission that the call needs, as in `contents: write`. */
  readonly permission: string;
}

/** Runs one call (or a few with the same permission) and maps what GitHub refuses. */
export async function callGithub<T>(words: CallWords, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw githubError(error, words);
  }
}

/** HTTP status of a refusal, or null for anything else. */
export function statusOf(error: unknown): number | null {
  const failure = requestErrorSchema.safeParse(asPlain(error));
  return failure.success ? failure.data.status : null;
}

/** The error of our tree for anything that a GitHub call threw; aborts and our own errors stay as they are. */
export function githubError(error: unknown, words: CallWords): unknown {
  if (error instanceof HastenError) return error;
  if (error instanceof Error && error.name === 'AbortError') return error;
  const plain = asPlain(error);
  const refused = requestErrorSchema.safeParse(plain);
  if (refused.success) return refusal(refused.data, words, error);
  const graph = graphErrorSchema.safeParse(plain);
  if (graph.success) return graphRefusal(graph.data, words, error);
  return error;
}

function refusal(failure: RequestFailure, words: CallWords, cause: unknown): HastenError {
  const { status, message } = failure;
  const said = message.split('\n')[0]?.slice(0, 300) ?? '';
  const wait = retryAfterMs(failure);
  if (status === 429 || (status === 403 && (wait !== null || /rate limit|abuse/i.test(message)))) {
    return new PeerError({
      code: 'GITHUB_RATE_LIMITED',
      message: `GitHub limits our requests (tried to ${words.what}); it is tried again later.`,
      retryAfterMs: wait ?? SECONDARY_LIMIT_WAIT_MS,
      cause,
    });
  }
  if (status >= 500 || status === 401 || status === 408 || status === 409) {
    return unavailable(words, `${status} ${said}`, wait, cause);
  }
  if (status === 403) return notAllowed('GITHUB_FORBIDDEN', words, `403: ${said}`, cause);
  if (status === 404 || status === 410) {
    return notAllowed('GITHUB_NOT_FOUND', words, `${status}: ${said}`, cause);
  }
  return new BugError({
    code: 'GITHUB_REFUSED',
    message: `GitHub refused the request to ${words.what} as invalid (${status}: ${said}).`,
    cause,
  });
}

function graphRefusal(
  failure: z.infer<typeof graphErrorSchema>,
  words: CallWords,
  cause: unknown,
): HastenError {
  const first = failure.errors[0];
  const said = first?.message.slice(0, 300) ?? '';
  if (first?.type === 'FORBIDDEN') return notAllowed('GITHUB_FORBIDDEN', words, said, cause);
  if (first?.type === 'NOT_FOUND') return notAllowed('GITHUB_NOT_FOUND', words, said, cause);
  const limited = first?.type === 'RATE_LIMITED';
  return unavailable(words, said, limited ? SECONDARY_LIMIT_WAIT_MS : null, cause);
}

function notAllowed(code: string, words: CallWords, said: string, cause: unknown): UserError {
  return new UserError({
    code,
    message: `GitHub refused to ${words.what} (${said}). Expected the App to be installed on this repository with the permission "${words.permission}"; check the installation's repositories and permissions.`,
    cause,
  });
}

function unavailable(words: CallWords, said: string, wait: number | null, cause: unknown): PeerError {
  return new PeerError({
    code: 'GITHUB_UNAVAILABLE',
    message: `GitHub did not answer when we tried to ${words.what} (${said}); it is tried again.`,
    retryAfterMs: wait,
    cause,
  });
}

/** Milliseconds to wait by `retry-after`, or by the reset of an empty primary limit on GitHub's clock; null when it names none. */
function retryAfterMs(failure: RequestFailure): number | null {
  const headers = failure.response?.headers ?? {};
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  if (Number.isFinite(seconds)) return bounded(seconds * 1000);
  if (String(headers['x-ratelimit-remaining']) !== '0') return null;
  const reset = Number(headers['x-ratelimit-reset'] ?? Number.NaN) * 1000;
  const answeredAt = Date.parse(String(headers.date ?? ''));
  return bounded(Number.isFinite(reset - answeredAt) ? reset - answeredAt : MAX_RETRY_AFTER_MS);
}

function bounded(ms: number): number {
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(1000, ms));
}

function asPlain(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return { ...error, name: error.name, message: error.message };
}
