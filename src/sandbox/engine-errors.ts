/** Turns what dockerode throws into Hasten's error tree: engine away, refused, or somebody's setting. */
import { z } from 'zod';
import { HastenError, PeerError, UserError } from '../domain/errors.js';

const Failure = z.looseObject({
  message: z.string().default(''),
  code: z.string().optional(),
  statusCode: z.number().optional(),
  reason: z.string().optional(),
});

const AWAY =
  /ECONNREFUSED|ENOENT|ECONNRESET|EPIPE|EACCES|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|socket hang up|UND_ERR/;

/** HTTP status of a dockerode error, or null. */
export function statusOf(error: unknown): number | null {
  const parsed = Failure.safeParse(error);
  return parsed.success ? (parsed.data.statusCode ?? null) : null;
}

/** The error to throw for a failed engine call; `doing` completes "could not …". Aborts and errors of our own tree pass through. */
export function engineError(error: unknown, doing: string): unknown {
  if (error instanceof HastenError) return error;
  const parsed = Failure.safeParse(error);
  if (!parsed.success) return error;
  const { message, code, statusCode } = parsed.data;
  if (statusCode === undefined) {
    if (!AWAY.test(`${code ?? ''} ${message}`)) return error;
    return new PeerError({
      code: 'DOCKER_UNAVAILABLE',
      message: `the Docker engine does not answer (could not ${doing}: ${message}); start it or set where it listens`,
      cause: error,
    });
  }
  if (statusCode === 404 && /no such image/i.test(message)) {
    return new UserError({
      code: 'SANDBOX_IMAGE_MISSING',
      message: `the engine has no such sandbox image (${message}); build it with the set-up command`,
      cause: error,
    });
  }
  if (statusCode === 400 && /runtime/i.test(message)) {
    return new UserError({
      code: 'SANDBOX_RUNTIME_UNKNOWN',
      message: `the engine does not know this runtime (${message}); register it there or choose another`,
      cause: error,
    });
  }
  return new PeerError({
    code: 'DOCKER_REFUSED',
    message: `the Docker engine could not ${doing}: ${message}`,
    retryable: statusCode >= 500,
    cause: error,
  });
}

/** Runs one engine call with its errors translated. */
export async function engineCall<T>(doing: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw engineError(error, doing);
  }
}
