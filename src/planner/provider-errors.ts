/** What an error of the model's endpoint means: whose fault, whether to try again, whether it may have been charged. */
import type { APIError } from 'openai';
import { type HastenError, PeerError, UserError } from '../domain/errors.js';

const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
]);
/** Gateways answer these while the model behind them may go on and be charged. */
const MAY_BE_CHARGED = new Set([408, 502, 504]);
const MAX_PROVIDER_TEXT = 300;

/** Whether an error says that no byte of the request left, judged by the codes along its causes. */
export function neverSent(error: unknown): boolean {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 6; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string' && NEVER_SENT.has(at.code)) return true;
  }
  return false;
}

export interface Refusal {
  readonly error: HastenError;
  readonly mayBeCharged: boolean;
}

/** A status answer of the provider in our error tree; texts carry what fixes it and never the key. */
export function refusal(error: APIError, model: string): Refusal {
  const status = error.status ?? 0;
  return { error: translate(error, status, model), mayBeCharged: MAY_BE_CHARGED.has(status) };
}

function translate(error: APIError, status: number, model: string): HastenError {
  if (status === 401 || status === 403) {
    return new UserError({
      code: 'MODEL_KEY_REFUSED',
      message: `The model endpoint refused the API key (status ${status}). Check the key and its rights.`,
    });
  }
  if (error.code === 'insufficient_quota') {
    return new UserError({
      code: 'MODEL_QUOTA_USED_UP',
      message: 'The account at the model provider has no quota left. Add credit there, or use another key.',
    });
  }
  if (status === 404) {
    return new UserError({
      code: 'MODEL_NOT_FOUND',
      message: `The model endpoint does not know the model "${model}" (status 404). Check name and address.`,
    });
  }
  const said = error.message.slice(0, MAX_PROVIDER_TEXT);
  const again = status === 408 || status === 409 || status === 429 || status >= 500;
  return new PeerError({
    code: status === 429 ? 'MODEL_RATE_LIMITED' : again ? 'MODEL_FAILED' : 'MODEL_REQUEST_REFUSED',
    message: `The model endpoint answered with status ${status}: ${said}`,
    retryable: again,
    retryAfterMs: retryAfterMs(error),
  });
}

/** Milliseconds of `retry-after-ms` or `Retry-After` (seconds or a date), or null. */
function retryAfterMs(error: APIError): number | null {
  const exact = Number.parseFloat(error.headers?.get('retry-after-ms') ?? '');
  if (Number.isFinite(exact) && exact >= 0) return exact;
  const text = error.headers?.get('retry-after') ?? null;
  if (text === null) return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const served = Date.parse(error.headers?.get('date') ?? '');
  const until = Date.parse(text);
  return Number.isFinite(until) && Number.isFinite(served) ? Math.max(0, until - served) : null;
}
