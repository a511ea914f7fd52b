// Webhooks: takes emulate's, completes them, signs them again and delivers each once, as GitHub does.
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { asObject, type Json, type JsonObject, numberAt, textAt } from './json.js';

/** GitHub gives up on a receiver after ten seconds. */
const DELIVERY_TIMEOUT_MS = 10_000;
const HOOK_ID = 31337;

export interface WebhookDelivery {
  readonly id: number;
  readonly guid: string;
  readonly event: string;
  readonly action: string | null;
  readonly payload: JsonObject;
  readonly redelivery: boolean;
  readonly deliveredAt: Date;
  /** Status of the receiver's answer; 0 when there was none. */
  statusCode: number;
  /** Text for people, such as `OK` or `failed to connect to host`. */
  status: string;
  durationSeconds: number;
}

export interface SignedWebhook {
  readonly event: string;
  readonly payload: Json;
  /** A new UUID when left out. */
  readonly guid?: string;
  /** The App's secret when left out; another one makes a bad signature, null sends none. */
  readonly secret?: string | null;
  /** The body as it is sent; the payload as JSON when left out. */
  readonly rawBody?: string;
}

export class WebhookRelay {
  /** Where deliveries go; none are made while it is undefined. */
  target: string | undefined;
  readonly #secret: string;
  readonly #appId: number;
  readonly #deliveries: WebhookDelivery[] = [];
  readonly #pending = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #lastActivity = 0;
  #nextId = 0;

  constructor(secret: string, appId: number, target: string | undefined) {
    this.#secret = secret;
    this.#appId = appId;
    this.target = target;
  }

  /** True when a body carries the signature of the App's secret. */
  isSigned(body: string, signature: string): boolean {
    const expected = Buffer.from(sign(this.#secret, body));
    const given = Buffer.from(signature);
    return expected.length === given.length && timingSafeEqual(expected, given);
  }

  /** Notes that something happened that may still lead to a webhook. */
  noteActivity(): void {
    this.#lastActivity = Date.now();
  }

  /** Runs work that ends in a delivery; `whenSettled` waits for it. */
  track(work: () => Promise<unknown>): void {
    this.noteActivity();
    const running = work()
      .catch(() => undefined)
      .finally(() => {
        this.#pending.delete(running);
        this.noteActivity();
      });
    this.#pending.add(running);
  }

  /** Delivers a complete payload once and records the result; the promise ends with the receiver's answer. */
  async deliver(
    event: string,
    payload: JsonObject,
    guid: string,
    redelivery: boolean,
  ): Promise<WebhookDelivery> {
    this.#nextId += 1;
    const action = textAt(payload, 'action') || null;
    const delivery: WebhookDelivery = {
      id: this.#nextId,
      guid,
      event,
      action,
      payload,
      redelivery,
      deliveredAt: new Date(),
      statusCode: 0,
      status: 'pending',
      durationSeconds: 0,
    };
    if (this.target === undefined) return { ...delivery, status: 'no target' };
    this.#deliveries.push(delivery);
    const started = performance.now();
    const answer = await this.send({ event, payload, guid });
    delivery.durationSeconds = Math.round(performance.now() - started) / 1000;
    delivery.statusCode = answer.status;
    delivery.status =
      answer.status === 0 ? 'failed to connect to host' : String(answer.text || answer.status);
    return delivery;
  }

  /** Posts a signed body to the target without recording it; status 0 when nobody answered. */
  async send(webhook: SignedWebhook): Promise<{ status: number; text: string; body: string }> {
    if (this.target === undefined) throw new Error('webhookTarget is not set');
    const body = webhook.rawBody ?? JSON.stringify(webhook.payload);
    const secret = webhook.secret === undefined ? this.#secret : webhook.secret;
    const headers: Record<string, string> = {
      accept: '*/*',
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/0000rig',
      'x-github-event': webhook.event,
      'x-github-delivery': webhook.guid ?? randomUUID(),
      'x-github-hook-id': String(HOOK_ID),
      'x-github-hook-installation-target-id': String(this.#appId),
      'x-github-hook-installation-target-type': 'integration',
    };
    if (secret !== null) headers['x-hub-signature-256'] = sign(secret, body);
    try {
      const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(DELIVERY_TIMEOUT_MS)]);
      const answer = await fetch(this.target, { method: 'POST', headers, body, signal });
      return { status: answer.status, text: answer.statusText, body: await answer.text() };
    } catch {
      return { status: 0, text: '', body: '' };
    }
  }

  /** All recorded deliveries, oldest first. */
  deliveries(): readonly WebhookDelivery[] {
    return this.#deliveries;
  }

  /** Waits until no webhook is under way and none has appeared for `quietMs`. */
  async whenSettled(quietMs: number): Promise<void> {
    this.noteActivity();
    while (this.#pending.size > 0 || Date.now() - this.#lastActivity < quietMs) {
      await Promise.race([...this.#pending, pause(quietMs / 10)]);
    }
  }

  /** Breaks off deliveries that are still under way. */
  close(): void {
    this.#closing.abort();
  }

  /** A delivery in the form of `GET /app/hook/deliveries`, with request and response for a single one. */
  describe(delivery: WebhookDelivery, complete: boolean): JsonObject {
    const summary: JsonObject = {
      id: delivery.id,
      guid: delivery.guid,
      delivered_at: delivery.deliveredAt.toISOString(),
      redelivery: delivery.redelivery,
      duration: delivery.durationSeconds,
      status: delivery.status,
      status_code: delivery.statusCode,
      event: delivery.event,
      action: delivery.action,
      installation_id: numberOrNull(numberAt(delivery.payload, 'installation', 'id')),
      repository_id: numberOrNull(numberAt(delivery.payload, 'repository', 'id')),
      throttled_at: null,
    };
    if (!complete) return summary;
    return {
      ...summary,
      url: this.target ?? '',
      request: { headers: { 'X-GitHub-Delivery': delivery.guid }, payload: asObject(delivery.payload) },
      response: { headers: {}, payload: '' },
    };
  }

  /** The App's webhook settings in the form of `GET /app/hook/config`. */
  config(): JsonObject {
    return {
      content_type: 'json',
      insecure_ssl: '0',
      secret: '********',
      ...(this.target === undefined ? {} : { url: this.target }),
    };
  }
}

function sign(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

function numberOrNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
