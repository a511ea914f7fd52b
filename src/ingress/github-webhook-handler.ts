/** GitHub's webhooks: bounded, verified, sorted, counted against the source's share, stored, and only then answered 202. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Delivery, Inbox } from '../domain/delivery.js';
import { hashOf } from './delivery-hash.js';
import {
  answerJson,
  inboxFull,
  malformed,
  methodNotAllowed,
  notJson,
  type Refusal,
  refuse,
  tooManyRequests,
} from './http-answer.js';
import { type Normalised, normaliseGithub } from './normalise.js';
import type { BodyReader } from './request-body.js';

export interface GithubWebhookDeps {
  readonly inbox: Inbox;
  readonly bodies: BodyReader;
  /** Logins in lower case. */
  readonly allowedAccounts: readonly string[];
  /** Whether the signature header belongs to the body. */
  readonly verify: (body: string, signature: string) => Promise<boolean>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly log: Logger;
}

interface WebhookHeaders {
  readonly deliveryId: string;
  readonly event: string;
  readonly signature: string;
}

/** Answers one request to the webhook path. Rejects when the store fails; nothing was stored then. */
export async function handleGithubWebhook(
  request: IncomingMessage,
  response: ServerResponse,
  deps: GithubWebhookDeps,
): Promise<void> {
  if (request.method !== 'POST') return refuse(response, methodNotAllowed('POST'));
  if (!isJson(request)) return refuse(response, notJson());
  const headers = readHeaders(request);
  if ('status' in headers) return refuse(response, { ...headers, close: true });
  const reading = await deps.bodies.read(request);
  if (reading.refusal !== null) return refuse(response, reading.refusal);
  const body = reading.body.toString('utf8');
  if (!(await isSigned(body, headers.signature, deps))) {
    deps.log.warn({ delivery: headers.deliveryId }, 'refused a webhook with a bad signature');
    return refuse(response, BAD_SIGNATURE);
  }
  const meaning = meaningOf(headers.event, body);
  if (meaning.kind === 'malformed') {
    return refuse(
      response,
      malformed(`Not a payload of GitHub: ${meaning.problem}.`, 'Send what GitHub sends.'),
    );
  }
  const reason = reasonToIgnore(meaning, deps.allowedAccounts);
  if (reason !== null || meaning.kind === 'ignored') {
    return answerJson(response, 202, { outcome: 'ignored', reason });
  }
  await store(response, deliveryOf(headers, body, meaning, deps.now()), deps);
}

async function store(response: ServerResponse, delivery: Delivery, deps: GithubWebhookDeps): Promise<void> {
  const source = `installation:${delivery.installationId ?? 'none'}`;
  const token = await deps.inbox.takeToken(source, delivery.receivedAt);
  if (!token.allowed) return refuse(response, tooManyRequests(token.retryAfterSeconds));
  const receipt = await deps.inbox.store(delivery);
  if (receipt.outcome === 'full') return refuse(response, inboxFull(receipt.retryAfterSeconds));
  answerJson(response, 202, { outcome: receipt.outcome });
}

function isJson(request: IncomingMessage): boolean {
  return /^\s*application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '');
}

function readHeaders(request: IncomingMessage): WebhookHeaders | Refusal {
  const deliveryId = request.headers['x-github-delivery'];
  const event = request.headers['x-github-event'];
  const signature = request.headers['x-hub-signature-256'];
  if (typeof deliveryId !== 'string' || !/^[A-Za-z0-9-]{1,100}$/.test(deliveryId)) {
    return badHeader('X-GitHub-Delivery');
  }
  if (typeof event !== 'string' || !/^[a-z_]{1,100}$/.test(event)) return badHeader('X-GitHub-Event');
  if (typeof signature !== 'string' || signature === '') return badHeader('X-Hub-Signature-256');
  return { deliveryId, event, signature };
}

function badHeader(name: string): Refusal {
  return {
    status: 400,
    code: 'MISSING_HEADER',
    message: `The header ${name} is missing or not as GitHub sends it.`,
    hint:
      name === 'X-Hub-Signature-256'
        ? 'Set a webhook secret in the settings of the App, the same one as in WEBHOOK_SECRET.'
        : 'Only GitHub should call this address.',
  };
}

const BAD_SIGNATURE: Refusal = {
  status: 401,
  code: 'BAD_SIGNATURE',
  message: 'The signature does not belong to the body; nothing was stored.',
  hint: 'The webhook secret in the settings of the App must be the same as WEBHOOK_SECRET.',
};

async function isSigned(body: string, signature: string, deps: GithubWebhookDeps): Promise<boolean> {
  try {
    return body !== '' && (await deps.verify(body, signature));
  } catch {
    return false;
  }
}

function meaningOf(event: string, body: string): Normalised {
  let payload: unknown;
  try {
    payload = JSON.parse(body);
  } catch {
    return { kind: 'malformed', problem: 'the body is not JSON' };
  }
  return normaliseGithub(event, payload);
}

function reasonToIgnore(meaning: Normalised, allowedAccounts: readonly string[]): string | null {
  if (meaning.kind === 'ignored') return meaning.reason;
  if (meaning.kind !== 'candidate') return null;
  const served = allowedAccounts.includes(meaning.repository.owner.toLowerCase());
  return served ? null : 'this service does not serve the account';
}

function deliveryOf(
  headers: WebhookHeaders,
  body: string,
  meaning: Extract<Normalised, { kind: 'candidate' }>,
  receivedAt: number,
): Delivery {
  return {
    id: headers.deliveryId,
    source: 'github',
    event: headers.event,
    action: meaning.action,
    repositoryId: meaning.repository.id,
    installationId: meaning.repository.installationId,
    body,
    bodyHash: hashOf(headers.event, body),
    receivedAt,
  };
}
