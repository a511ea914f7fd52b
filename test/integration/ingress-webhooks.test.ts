import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { WEBHOOK_PATH } from '../../src/ingress/routes.js';
import { type IngressRig, postWebhook, signatureOf, startIngressRig } from '../support/ingress-rig.js';
import { publishedPayload, publishedPayloads } from '../support/webhook-examples.js';

const errorBody = z.object({ error: z.string(), message: z.string().min(10), hint: z.string().min(5) });

/** A published payload turned into one that means something. */
function labeled(changes: Record<string, unknown> = {}): string {
  return JSON.stringify({
    ...publishedPayload('issues', 'labeled'),
    label: { id: 1, name: 'hasten' },
    ...changes,
  });
}

function commented(body: string): string {
  const payload = publishedPayload('issue_comment', 'created');
  const comment = z.record(z.string(), z.unknown()).parse(payload.comment);
  return JSON.stringify({ ...payload, comment: { ...comment, body } });
}

describe('the webhook route', () => {
  let rig: IngressRig;
  beforeEach(async () => {
    rig = await startIngressRig();
  });
  afterEach(() => rig.close());

  it('accepts every published payload of issues, issue comments and pull requests, and stores none that means nothing', async () => {
    let sent = 0;
    for (const event of ['issues', 'issue_comment', 'pull_request', 'push', 'installation', 'ping']) {
      for (const payload of publishedPayloads(event)) {
        const body = JSON.stringify({ ...payload, installation: { id: 9001 } });
        const answer = await postWebhook(rig, { event, body });
        expect(answer.status, `${event} ${String(payload.action)}: ${await answer.text()}`).toBe(202);
        sent += 1;
      }
    }
    expect(sent).toBeGreaterThanOrEqual(67);
    expect(await rig.deliveries()).toEqual([]);
  });

  it('stores a label, a command and the end of a pull request of Hasten before it answers 202, and wakes the engine', async () => {
    const id = randomUUID();
    const body = labeled();
    const answer = await postWebhook(rig, { event: 'issues', body, id });
    expect([answer.status, await answer.json()]).toEqual([202, { outcome: 'stored' }]);
    expect(await rig.deliveries()).toMatchObject([
      {
        delivery_id: id,
        source: 'github',
        event: 'issues',
        action: 'labeled',
        repository_id: '186853002',
        installation_id: 9001,
        body,
      },
    ]);
    await postWebhook(rig, { event: 'issue_comment', body: commented('/hasten status') });
    const closed = publishedPayload('pull_request', 'closed');
    const pull = z.looseObject({ head: z.looseObject({}) }).parse(closed.pull_request);
    const ours = { ...closed, pull_request: { ...pull, head: { ...pull.head, ref: 'hasten/0123456789ab' } } };
    await postWebhook(rig, { event: 'pull_request', body: JSON.stringify(ours) });
    expect((await rig.deliveries()).map((row) => `${row.event}.${row.action}`)).toEqual([
      'issues.labeled',
      'issue_comment.created',
      'pull_request.closed',
    ]);
    expect(rig.wakes()).toBe(3);
  });

  it('takes the same delivery twice, and the same body under another id, as one', async () => {
    const post = { event: 'issues', body: labeled(), id: randomUUID() };
    const outcomes = [];
    for (const again of [post, post, { ...post, id: randomUUID() }]) {
      outcomes.push(await (await postWebhook(rig, again)).json());
    }
    expect(outcomes).toEqual([{ outcome: 'stored' }, { outcome: 'duplicate' }, { outcome: 'duplicate' }]);
    expect(await rig.deliveries()).toHaveLength(1);
  });

  it('refuses a bad signature with 401, stores nothing and logs nothing of the body or of secrets', async () => {
    const body = labeled({ secretOfTheBody: 'marker-of-the-body' });
    const forged = signatureOf(body, 'another-secret');
    const answers = await Promise.all([
      postWebhook(rig, { event: 'issues', body, secret: 'another-secret' }),
      postWebhook(rig, {
        event: 'issues',
        body: `${body} `,
        headers: { 'x-hub-signature-256': signatureOf(body) },
      }),
      postWebhook(rig, { event: 'issues', body, headers: { 'x-hub-signature-256': 'sha256=zz' } }),
      postWebhook(rig, { event: 'issues', body, headers: { authorization: 'Bearer marker-of-a-token' } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 202]);
    const [refused] = answers;
    expect(errorBody.parse(await refused?.json()).error).toBe('BAD_SIGNATURE');
    expect(await rig.deliveries()).toHaveLength(1);
    expect(rig.logged()).toContain('bad signature');
    for (const secret of ['marker-of-the-body', 'secretOfTheBody', forged, 'marker-of-a-token']) {
      expect(rig.logged()).not.toContain(secret);
    }
  });

  it('answers 400 with a JSON error for missing headers, broken JSON and payloads of another shape', async () => {
    const body = labeled();
    const broken = '{"action":"labeled"';
    const shapeless = JSON.stringify({ action: 'labeled', issue: { number: 'one' } });
    const posts = [
      { event: 'issues', body, headers: { 'x-hub-signature-256': '' } },
      { event: 'issues', body, headers: { 'x-github-delivery': '' } },
      { event: '', body },
      { event: 'issues', body, id: "1'; drop table delivery" },
      { event: 'issues', body: broken },
      { event: 'issues', body: shapeless },
      { event: 'issues', body: '[]' },
    ];
    for (const post of posts) {
      const answer = await postWebhook(rig, post);
      expect(answer.status, JSON.stringify(post.headers ?? post.event)).toBe(400);
      expect(['MISSING_HEADER', 'MALFORMED_PAYLOAD']).toContain(errorBody.parse(await answer.json()).error);
    }
    const form = await postWebhook(rig, {
      event: 'issues',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(form.status).toBe(415);
    expect((await fetch(`${rig.url}${WEBHOOK_PATH}`)).status).toBe(405);
    expect(await rig.deliveries()).toEqual([]);
  });

  it('ignores accounts outside of HASTEN_ALLOWED_ACCOUNTS, bots, other labels and comments without a command', async () => {
    const payload = publishedPayload('issues', 'labeled');
    const repository = z.looseObject({ owner: z.looseObject({}) }).parse(payload.repository);
    const stranger = { ...repository, owner: { ...repository.owner, login: 'somebody-else' } };
    const bodies: [string, string][] = [
      ['issues', labeled({ repository: stranger })],
      ['issues', labeled({ sender: { login: 'helper[bot]', id: 7, type: 'Bot' } })],
      ['issues', labeled({ label: { name: 'hasten-later' } })],
      ['issue_comment', commented('> /hasten approve')],
      ['pull_request', JSON.stringify(publishedPayload('pull_request', 'closed'))],
    ];
    for (const [event, body] of bodies) {
      const answer = await postWebhook(rig, { event, body });
      expect(answer.status).toBe(202);
      expect(await answer.json()).toMatchObject({ outcome: 'ignored' });
    }
    expect(await rig.deliveries()).toEqual([]);
  });
});

describe('the bounds of the webhook route', () => {
  it('answers 413 to a body above the bound, announced or not, and stops reading it', async () => {
    const rig = await startIngressRig({ HASTEN_MAX_BODY_BYTES: '20000' });
    try {
      const body = labeled({ padding: 'x'.repeat(50_000) });
      const answer = await postWebhook(rig, { event: 'issues', body });
      expect(answer.status).toBe(413);
      expect(errorBody.parse(await answer.json()).error).toBe('BODY_TOO_LARGE');
      expect(await sendWithoutEnd(rig)).toMatch(/^HTTP\/1\.1 413 /);
      expect(await announce(rig, 1_000_000)).toMatch(/^HTTP\/1\.1 413 /);
      expect(await rig.deliveries()).toEqual([]);
    } finally {
      await rig.close();
    }
  });

  it('answers 429 with Retry-After once the bucket of an installation is empty; others go on', async () => {
    const rig = await startIngressRig({ HASTEN_BUCKET_BURST: '2', HASTEN_BUCKET_RATE: '0.01' });
    try {
      const statuses = [];
      for (const number of [1, 2, 3]) {
        const answer = await postWebhook(rig, { event: 'issues', body: labeled({ number }) });
        statuses.push(answer.status);
        if (answer.status === 429) {
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
          expect(errorBody.parse(await answer.json()).error).toBe('TOO_MANY_REQUESTS');
        }
      }
      expect(statuses).toEqual([202, 202, 429]);
      const other = await postWebhook(rig, { event: 'issues', body: labeled({ installation: { id: 2 } }) });
      expect(other.status).toBe(202);
      expect(await rig.deliveries()).toHaveLength(3);
    } finally {
      await rig.close();
    }
  });

  it('answers 503 with Retry-After while too many deliveries wait, and stores nothing then', async () => {
    const rig = await startIngressRig({ HASTEN_PENDING_PER_REPOSITORY: '1' });
    try {
      expect((await postWebhook(rig, { event: 'issues', body: labeled() })).status).toBe(202);
      const answer = await postWebhook(rig, { event: 'issues', body: labeled({ number: 2 }) });
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(errorBody.parse(await answer.json()).error).toBe('INBOX_FULL');
      expect(await rig.deliveries()).toHaveLength(1);
    } finally {
      await rig.close();
    }
  });

  it('serves nobody while HASTEN_ALLOWED_ACCOUNTS is empty', async () => {
    const rig = await startIngressRig({ HASTEN_ALLOWED_ACCOUNTS: '' });
    try {
      expect((await postWebhook(rig, { event: 'issues', body: labeled() })).status).toBe(202);
      expect(await rig.deliveries()).toEqual([]);
    } finally {
      await rig.close();
    }
  });
});

/** Sends chunk after chunk and never ends the body; gives what the server answers before it closes. */
function sendWithoutEnd(rig: IngressRig): Promise<string> {
  const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`;
  return talk(rig, 'Transfer-Encoding: chunked', chunk);
}

/** Announces a body and sends none of it. */
function announce(rig: IngressRig, bytes: number): Promise<string> {
  return talk(rig, `Content-Length: ${bytes}`, null);
}

function talk(rig: IngressRig, header: string, repeated: string | null): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(rig.ingress.port, '127.0.0.1');
    let answer = '';
    const timer = setInterval(() => {
      if (repeated !== null && socket.writable) socket.write(repeated);
    }, 1);
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket.on('close', () => {
      clearInterval(timer);
      resolve(answer);
    });
    socket.on('error', (error) => {
      if (answer === '') reject(error);
    });
    const headers = [
      `POST ${WEBHOOK_PATH} HTTP/1.1`,
      'Host: x',
      'Content-Type: application/json',
      'X-GitHub-Event: issues',
      'X-GitHub-Delivery: 1',
      'X-Hub-Signature-256: sha256=00',
      header,
    ];
    socket.write(`${headers.join('\r\n')}\r\n\r\n`);
  });
}
