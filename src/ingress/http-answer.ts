/** Answers of the service's own HTTP routes: JSON, and for every refusal a code, a sentence and a hint. */
import type { ServerResponse } from 'node:http';

/** A refusal as the caller sees it. */
export interface Refusal {
  /** HTTP status. */
  readonly status: number;
  /** Stable, upper snake case. */
  readonly code: string;
  readonly message: string;
  /** What the caller can do about it. */
  readonly hint: string;
  readonly retryAfterSeconds?: number;
  /** The rest of the request is not wanted: the connection ends with the answer. */
  readonly close?: boolean;
  readonly allow?: string;
}

/** Answers with a JSON body. Does nothing when the answer is already under way. */
export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

/** Answers with `{error, message, hint}` and, where it is known, `Retry-After` in seconds. */
export function refuse(response: ServerResponse, refusal: Refusal): void {
  const headers: Record<string, string> = {};
  if (refusal.retryAfterSeconds !== undefined) headers['retry-after'] = String(refusal.retryAfterSeconds);
  if (refusal.close === true) headers.connection = 'close';
  if (refusal.allow !== undefined) headers.allow = refusal.allow;
  const { code, message, hint } = refusal;
  answerJson(response, refusal.status, { error: code, message, hint }, headers);
}

/** The path of a request without its query. */
export function pathOf(url: string | undefined): string {
  return (url ?? '/').split('?', 1)[0] ?? '/';
}

export function methodNotAllowed(allow: string): Refusal {
  return {
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    message: `This address takes ${allow} only.`,
    hint: `Send ${allow}.`,
    allow,
    close: true,
  };
}

export function notJson(): Refusal {
  return {
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'The body must be JSON, with the header Content-Type: application/json.',
    hint: "Choose the content type application/json in the webhook's settings.",
    close: true,
  };
}

export function malformed(message: string, hint: string): Refusal {
  return { status: 400, code: 'MALFORMED_PAYLOAD', message, hint };
}

export function tooManyRequests(retryAfterSeconds: number): Refusal {
  return {
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    message: 'This source has sent more than its share; nothing was stored.',
    hint: `Send it again in ${retryAfterSeconds} seconds. HASTEN_BUCKET_RATE and HASTEN_BUCKET_BURST set the share.`,
    retryAfterSeconds,
  };
}

export function inboxFull(retryAfterSeconds: number): Refusal {
  return {
    status: 503,
    code: 'INBOX_FULL',
    message: 'Too many deliveries wait already; nothing was stored.',
    hint: `Send it again in ${retryAfterSeconds} seconds.`,
    retryAfterSeconds,
  };
}

export function storeFailed(): Refusal {
  return {
    status: 503,
    code: 'NOT_STORED',
    message: 'The delivery could not be stored.',
    hint: 'Send it again; the log of the service says what is wrong with its database.',
    retryAfterSeconds: 30,
  };
}

export function stopping(): Refusal {
  return {
    status: 503,
    code: 'STOPPING',
    message: 'The service is about to stop and takes nothing new.',
    hint: 'Send it again in half a minute.',
    retryAfterSeconds: 30,
    close: true,
  };
}
