/** `POST /alerts`: Alertmanager's groups, each alert one delivery, stored before the answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { AlertSource } from '../config/alert-sources.js';
import type { Delivery, Inbox } from '../domain/delivery.js';
import { type Alert, alertmanagerPayload, MAX_ALERTS, type StoredAlert } from './alert-payload.js';
import { authenticateSource, REPOSITORY_LABEL, targetOf } from './alert-routing.js';
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
import type { BodyReader } from './request-body.js';

export interface AlertDeps {
  readonly inbox: Inbox;
  readonly bodies: BodyReader;
  readonly sources: readonly AlertSource[];
  /** Logins in lower case. */
  readonly allowedAccounts: readonly string[];
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly log: Logger;
}

/** An alert that was not taken, with the reason. */
interface RefusedAlert {
  readonly fingerprint: string;
  readonly status: 403 | 422;
  readonly error: string;
  readonly message: string;
  readonly hint: string;
}

interface Sorted {
  readonly deliveries: readonly Delivery[];
  readonly ignored: number;
  readonly refused: readonly RefusedAlert[];
}

/** Answers one request. Rejects when the store fails; a repeat of the group stores what is missing. */
export async function handleAlerts(
  request: IncomingMessage,
  response: ServerResponse,
  deps: AlertDeps,
): Promise<void> {
  if (request.method !== 'POST') return refuse(response, methodNotAllowed('POST'));
  const source = authenticateSource(deps.sources, request.headers.authorization);
  if (source === null) {
    deps.log.warn({ remoteAddress: request.socket.remoteAddress }, 'refused alerts with a bad token');
    return refuse(response, BAD_TOKEN);
  }
  if (!/^\s*application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    return refuse(response, notJson());
  }
  const at = deps.now();
  const token = await deps.inbox.takeToken(`alert:${source.name}`, at);
  if (!token.allowed) return refuse(response, { ...tooManyRequests(token.retryAfterSeconds), close: true });
  const reading = await deps.bodies.read(request);
  if (reading.refusal !== null) return refuse(response, reading.refusal);
  const parsed = alertmanagerPayload.safeParse(jsonOf(reading.body.toString('utf8')));
  if (!parsed.success) return refuse(response, notAlertmanager(parsed.error.issues[0]));
  const sorted = sortAlerts(parsed.data, source, deps, at);
  for (const { fingerprint, error } of sorted.refused) {
    deps.log.warn({ source: source.name, fingerprint, error }, 'refused an alert');
  }
  await store(response, sorted, deps);
}

async function store(response: ServerResponse, sorted: Sorted, deps: AlertDeps): Promise<void> {
  const receipts = await Promise.all(sorted.deliveries.map((delivery) => deps.inbox.store(delivery)));
  const full = receipts.find((receipt) => receipt.outcome === 'full');
  if (full?.outcome === 'full') return refuse(response, inboxFull(full.retryAfterSeconds));
  answerJson(response, 202, {
    accepted: sorted.deliveries.length,
    ignored: sorted.ignored,
    refused: sorted.refused,
  });
}

function sortAlerts(
  payload: { readonly groupKey: string; readonly alerts: readonly Alert[] },
  source: AlertSource,
  deps: AlertDeps,
  at: number,
): Sorted {
  const deliveries = new Map<string, Delivery>();
  const refused: RefusedAlert[] = [];
  let ignored = 0;
  for (const alert of payload.alerts) {
    const target = targetOf(source, alert);
    if (target.kind === 'forbidden') refused.push(forbidden(alert, source));
    else if (target.kind === 'unnamed') refused.push(unnamed(alert));
    else if (alert.status === 'resolved' || !isServed(target.repository, deps.allowedAccounts)) ignored += 1;
    else {
      const { groupKey } = payload;
      const delivery = deliveryOf(
        { source: source.name, repository: target.repository, groupKey, alert },
        at,
      );
      deliveries.set(delivery.id, delivery);
    }
  }
  return { deliveries: [...deliveries.values()], ignored, refused };
}

function isServed(repository: string, allowedAccounts: readonly string[]): boolean {
  return allowedAccounts.includes(repository.split('/', 1)[0]?.toLowerCase() ?? '');
}

/** One alert as a delivery; repeats, restarts and a second Alertmanager give the same id. */
function deliveryOf(stored: StoredAlert, receivedAt: number): Delivery {
  const { alert, groupKey, repository } = stored;
  const body = JSON.stringify(stored);
  return {
    id: hashOf(groupKey, alert.fingerprint, alert.startsAt, alert.status),
    source: 'alert',
    event: 'alert',
    action: alert.status,
    // An alert knows no repository id; the name bounds what waits just as well.
    repositoryId: `alert:${repository.toLowerCase()}`,
    installationId: null,
    body,
    bodyHash: hashOf('alert', body),
    receivedAt,
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const BAD_TOKEN: Refusal = {
  status: 401,
  code: 'BAD_TOKEN',
  message: 'No alert source has this token; nothing was stored.',
  hint: "Send the source's token as `Authorization: Bearer …` (http_config.authorization in Alertmanager).",
  close: true,
};

function notAlertmanager(
  issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined,
): Refusal {
  const where = issue?.path.map(String).join('.') || 'the body';
  return malformed(
    `Not a payload of Alertmanager, version 4: ${where}: ${issue?.message ?? 'unknown'}.`,
    `Use a webhook_configs receiver, with max_alerts of at most ${MAX_ALERTS}.`,
  );
}

function forbidden(alert: Alert, source: AlertSource): RefusedAlert {
  return {
    fingerprint: alert.fingerprint,
    status: 403,
    error: 'REPOSITORY_NOT_LISTED',
    message: `The source ${source.name} may not name the repository of this alert.`,
    hint: 'Add it to the repositories of the source in HASTEN_ALERT_SOURCES.',
  };
}

function unnamed(alert: Alert): RefusedAlert {
  return {
    fingerprint: alert.fingerprint,
    status: 422,
    error: 'REPOSITORY_UNKNOWN',
    message: 'Nothing says which repository this alert is about.',
    hint: `Give it the label ${REPOSITORY_LABEL} ("owner/name"), or add a route to the source.`,
  };
}
