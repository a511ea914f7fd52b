import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ALERTS_PATH } from '../../src/ingress/routes.js';
import { ALERT_TOKEN, type IngressRig, startIngressRig } from '../support/ingress-rig.js';

/** As Alertmanager 0.25.0 sent it; the label of the repository is ours. */
const RECORDED = readFileSync(new URL('../support/alertmanager-payload.json', import.meta.url), 'utf8');

interface Changes {
  readonly labels?: Record<string, string>;
  readonly status?: string;
  readonly startsAt?: string;
}

function payload(...alerts: readonly Changes[]): string {
  const group = JSON.parse(RECORDED);
  const [recorded] = group.alerts;
  group.alerts = alerts.map((changes, index) => ({
    ...recorded,
    ...changes,
    fingerprint: `4e3bb4c33813f6f${index}`,
    labels: { ...recorded.labels, ...changes.labels },
  }));
  return JSON.stringify(group);
}

function post(rig: IngressRig, body: string, token: string | null = ALERT_TOKEN): Promise<Response> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': 'Alertmanager/0.25.0',
  };
  if (token !== null) headers.authorization = `Bearer ${token}`;
  return fetch(`${rig.url}${ALERTS_PATH}`, { method: 'POST', headers, body });
}

const WEB = { labels: { hasten_repo: 'acme/web' } };

describe('the alert route', () => {
  let rig: IngressRig;
  beforeEach(async () => {
    rig = await startIngressRig({
      HASTEN_ALERT_SOURCES: JSON.stringify({
        other: { token: 'token-of-another-source', repositories: ['acme/api'] },
        prometheus: {
          token: ALERT_TOKEN,
          repositories: ['acme/web', 'stranger/app'],
          routes: [{ match: { job: 'app', route: '/checkout' }, repository: 'acme/web' }],
        },
      }),
    });
  });
  afterEach(() => rig.close());

  it('stores each firing alert as one delivery, whether the label or a route names the repository', async () => {
    const answer = await post(rig, payload(WEB, { labels: { hasten_repo: 'ACME/Web' } }, {}));
    expect([answer.status, await answer.json()]).toEqual([202, { accepted: 3, ignored: 0, refused: [] }]);
    const rows = await rig.deliveries();
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      expect(row).toMatchObject({ source: 'alert', event: 'alert', action: 'firing', installation_id: null });
      expect(row.delivery_id).toMatch(/^[0-9a-f]{64}$/);
      expect(JSON.parse(row.body)).toMatchObject({
        source: 'prometheus',
        repository: 'acme/web',
        alert: { labels: { alertname: 'HighLatency' } },
      });
    }
  });

  it('takes a repeat of the same alert as one, and a new start as another', async () => {
    await post(rig, payload(WEB));
    await post(rig, payload(WEB));
    expect(await rig.deliveries()).toHaveLength(1);
    await post(rig, payload({ ...WEB, startsAt: '2026-11-30T19:35:15.999Z' }));
    expect(await rig.deliveries()).toHaveLength(2);
  });

  it('ignores resolved alerts and accounts that are not served', async () => {
    const answer = await post(
      rig,
      payload({ ...WEB, status: 'resolved' }, { labels: { hasten_repo: 'stranger/app' } }),
    );
    expect([answer.status, await answer.json()]).toEqual([202, { accepted: 0, ignored: 2, refused: [] }]);
    expect(await rig.deliveries()).toEqual([]);
  });

  it('refuses alone the alert that names a repository of another source or none', async () => {
    const answer = await post(
      rig,
      payload({ labels: { hasten_repo: 'acme/api' } }, { labels: { route: '/login' } }, WEB),
    );
    expect(answer.status).toBe(202);
    expect(await answer.json()).toMatchObject({
      accepted: 1,
      refused: [
        { status: 403, error: 'REPOSITORY_NOT_LISTED', fingerprint: '4e3bb4c33813f6f0' },
        { status: 422, error: 'REPOSITORY_UNKNOWN', fingerprint: '4e3bb4c33813f6f1' },
      ],
    });
    expect(await rig.deliveries()).toHaveLength(1);
  });

  it('refuses every other token with 401, stores nothing and logs no token', async () => {
    for (const token of [null, '', 'wrong-token-wrong-token', `${ALERT_TOKEN}x`]) {
      const answer = await post(rig, payload(WEB), token);
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ error: 'BAD_TOKEN' });
    }
    await post(rig, payload(WEB), 'token-of-another-source');
    expect(await rig.deliveries()).toEqual([]);
    await post(rig, payload(WEB));
    expect(rig.logged()).not.toContain('wrong-token');
    expect(rig.logged()).not.toContain(ALERT_TOKEN);
  });

  it('answers 400 to what is not Alertmanager, version 4', async () => {
    const group = JSON.parse(payload(WEB));
    const bodies = [
      'nonsense',
      '{}',
      JSON.stringify({ ...group, version: '3' }),
      JSON.stringify({ ...group, alerts: [{ ...group.alerts[0], labels: { a: 1 } }] }),
      JSON.stringify({ ...group, alerts: [{ ...group.alerts[0], startsAt: 'yesterday' }] }),
    ];
    for (const body of bodies) {
      const answer = await post(rig, body);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: 'MALFORMED_PAYLOAD' });
    }
    expect(await rig.deliveries()).toEqual([]);
  });
});

describe('the bounds of the alert route', () => {
  it('answers 413, 429 and 503 as the webhook route does', async () => {
    const rig = await startIngressRig({
      HASTEN_MAX_BODY_BYTES: '4000',
      HASTEN_BUCKET_BURST: '3',
      HASTEN_BUCKET_RATE: '0.01',
      HASTEN_PENDING_PER_REPOSITORY: '1',
    });
    try {
      const answers = [
        await post(rig, payload({ labels: { hasten_repo: 'acme/web', pad: 'x'.repeat(5000) } })),
        await post(rig, payload(WEB)),
        await post(rig, payload(WEB, { ...WEB, startsAt: '2026-11-30T19:35:15.999Z' })),
        await post(rig, payload(WEB)),
      ];
      expect(answers.map(({ status }) => status)).toEqual([413, 202, 503, 429]);
      for (const answer of answers.slice(2))
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await rig.deliveries()).toHaveLength(1);
    } finally {
      await rig.close();
    }
  });
});
