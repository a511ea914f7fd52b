// A listening ingress with a real SQLite inbox in a temporary file, and clients that sign as GitHub does.
import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import {
  type Environment,
  readServiceSettings,
  type ServiceSettings,
} from '../../src/config/service-settings.js';
import type { Delivery } from '../../src/domain/delivery.js';
import type { HealthReport } from '../../src/ingress/health-handler.js';
import { type Ingress, startIngress } from '../../src/ingress/ingress-server.js';
import { WEBHOOK_PATH } from '../../src/ingress/routes.js';
import { type Database, migrate } from '../../src/store/database.js';
import { CORE_MIGRATIONS } from '../../src/store/schema.js';
import { SqlInbox } from '../../src/store/sql-inbox.js';
import { openSqlite } from '../../src/store/sqlite-database.js';
import { freePort } from './free-port.js';

export const WEBHOOK_SECRET = 'a-secret-for-webhooks';
export const ALERT_TOKEN = 'token-of-the-prometheus-source';

/** A private key of an App that exists nowhere. */
export const PRIVATE_KEY = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
}).privateKey;

export const HEALTHY: HealthReport = {
  status: 'ok',
  docker: { ok: true, detail: 'answers' },
  model: { ok: true, detail: 'is set' },
  github: { ok: true, detail: 'answers' },
  pending: 0,
};

export interface StoredDelivery {
  readonly delivery_id: string;
  readonly source: string;
  readonly event: string;
  readonly action: string | null;
  readonly repository_id: string | null;
  readonly installation_id: number | null;
  readonly body: string;
  readonly body_hash: string;
  readonly received_at: number;
}

export interface IngressRig {
  readonly url: string;
  readonly ingress: Ingress;
  readonly settings: ServiceSettings;
  /** All that was logged so far. */
  logged(): string;
  deliveries(): Promise<readonly StoredDelivery[]>;
  /** How often the inbox woke the engine. */
  wakes(): number;
  close(): Promise<void>;
}

export interface SignedPost {
  readonly event: string;
  readonly body: string;
  readonly secret?: string;
  readonly id?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Starts it on a free port of 127.0.0.1; `environment` is laid over working settings. */
export async function startIngressRig(
  environment: Environment = {},
  health: () => Promise<HealthReport> = () => Promise.resolve(HEALTHY),
): Promise<IngressRig> {
  const directory = mkdtempSync(join(tmpdir(), 'hasten-ingress-'));
  const settings = readServiceSettings(
    {
      APP_ID: '4711',
      PRIVATE_KEY,
      WEBHOOK_SECRET,
      HOST: '127.0.0.1',
      PORT: String(await freePort()),
      LOG_LEVEL: 'trace',
      HASTEN_ALLOWED_ACCOUNTS: 'codertocat, acme',
      HASTEN_ALERT_SOURCES: JSON.stringify({
        prometheus: { token: ALERT_TOKEN, repositories: ['acme/web'] },
      }),
      ...environment,
    },
    directory,
  );
  const database: Database = openSqlite(join(directory, 'hasten.sqlite'));
  await migrate(database, CORE_MIGRATIONS, Date.now());
  let wakes = 0;
  const inbox = new SqlInbox(database, settings.inbox, () => {
    wakes += 1;
  });
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const log = pino({ level: 'trace' }, sink);
  const ingress = await startIngress({ settings, inbox, health, log });
  return {
    url: `http://127.0.0.1:${ingress.port}`,
    ingress,
    settings,
    logged: () => lines.join(''),
    deliveries: () =>
      database.tx((tx) => tx.all<StoredDelivery>('select * from delivery order by received_at, rowid')),
    wakes: () => wakes,
    close: async () => {
      await ingress.stop(1000);
      await database.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A row as the reader gets it. */
export function asDelivery(row: StoredDelivery): Delivery {
  return {
    id: row.delivery_id,
    source: row.source === 'alert' ? 'alert' : 'github',
    event: row.event,
    action: row.action,
    repositoryId: row.repository_id,
    installationId: row.installation_id,
    body: row.body,
    bodyHash: row.body_hash,
    receivedAt: row.received_at,
  };
}

/** The signature header of a body. */
export function signatureOf(body: string, secret: string = WEBHOOK_SECRET): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

/** Posts a webhook as GitHub does. */
export function postWebhook(rig: IngressRig, post: SignedPost): Promise<Response> {
  return fetch(`${rig.url}${WEBHOOK_PATH}`, {
    method: 'POST',
    body: post.body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': post.event,
      'x-github-delivery': post.id ?? randomUUID(),
      'x-hub-signature-256': signatureOf(post.body, post.secret),
      ...post.headers,
    },
  });
}
