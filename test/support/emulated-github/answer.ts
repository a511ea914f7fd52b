// An HTTP answer as the front's handlers make it, and the error answers in GitHub's form.
import type { Json, JsonObject } from './json.js';

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, raw bytes, or nothing. */
  readonly body?: Json | Buffer | undefined;
}

/** An answer with a JSON body. */
export function json(status: number, body: Json): Answer {
  return { status, body };
}

/** An error answer: message, documentation link and the status as text, as GitHub sends it. */
export function failure(status: number, message: string, extra: JsonObject = {}): Answer {
  const documentation_url = 'https://docs.github.com/rest';
  return { status, body: { message, ...extra, documentation_url, status: String(status) } };
}

/** 404 as GitHub gives it, also for what the caller must not know about. */
export function notFound(): Answer {
  return failure(404, 'Not Found');
}

/** 401 for a token that is unknown, revoked or malformed. */
export function badCredentials(): Answer {
  return failure(401, 'Bad credentials');
}

/** 403 for an App token without the permission that the call needs. */
export function notAccessible(): Answer {
  return failure(403, 'Resource not accessible by integration');
}

/** 422 with one entry in `errors`. */
export function unprocessable(error: JsonObject): Answer {
  return failure(422, 'Validation Failed', { errors: [error] });
}
