// Webhooks of the emulated GitHub: what arrives, in which form, how often, and how it can be sent again.
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { appToken, rest } from '../support/app-client.js';
import { type EmulatedGitHub, startEmulatedGitHub } from '../support/emulated-github/emulated-github.js';
import {
  asObject,
  asObjects,
  at,
  type JsonObject,
  parseJson,
  textAt,
} from '../support/emulated-github/json.js';
import { missingFields } from '../support/github-contract/webhook-shape.js';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly payload: JsonObject;
}

const REPO = 'acme/app';
const received: Received[] = [];
let status = 202;
let receiver: Server;
let github: EmulatedGitHub;
let base: string;

beforeAll(async () => {
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      received.push({ headers: request.headers, text, payload: asObject(parseJson(text)) });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const address = receiver.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  github = await startEmulatedGitHub({ webhookTarget: `http://127.0.0.1:${port}/hooks` });
  base = await github.createRepository({ owner: 'acme', name: 'app', files: { 'a.js': '1\n' } });
});
afterEach(() => {
  received.length = 0;
  status = 202;
});
afterAll(async () => {
  await github.close();
  receiver.closeAllConnections();
  receiver.close();
});

function names(): string[] {
  return received.map(({ headers, payload }) => `${headers['x-github-event']}.${textAt(payload, 'action')}`);
}

async function openIssue(): Promise<number> {
  const number = await github.people.openIssue('reader', REPO, { title: 'slow' });
  await github.whenWebhooksSettled();
  return number;
}

async function openPull(branch: string, draft = false): Promise<number> {
  await github.people.createBranch('writer', REPO, branch, base);
  await github.people.commitFile('writer', REPO, { path: 'a.js', content: branch, branch });
  return github.people.openPull('writer', REPO, { title: branch, head: branch, base: 'main', draft });
}

test('seeding a repository sends nothing', () => {
  expect(received).toEqual([]);
});

test('a label arrives once, signed, with GitHub’s headers and full objects', async () => {
  const number = await openIssue();
  received.length = 0;
  await github.people.addLabel('writer', REPO, number, 'hasten');
  await github.whenWebhooksSettled();
  expect(received).toHaveLength(1);
  const [{ headers, text, payload }] = received as [Received];
  const signature = createHmac('sha256', github.app.webhookSecret).update(text).digest('hex');
  expect(headers['x-hub-signature-256']).toBe(`sha256=${signature}`);
  expect(headers['x-github-delivery']).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(headers['user-agent']).toMatch(/^GitHub-Hookshot\//);
  expect(headers['x-github-hook-installation-target-id']).toBe(String(github.app.appId));
  expect(payload).toMatchObject({
    action: 'labeled',
    label: { name: 'hasten', default: false, id: expect.any(Number), url: expect.any(String) },
    issue: { number, user: { login: 'reader' } },
    sender: { login: 'writer', type: 'User' },
    installation: { id: github.app.installationId },
    organization: { login: 'acme' },
  });
});

test('a label on a pull request is a pull_request event, a comment on one says so', async () => {
  const number = await openPull('labelled');
  await github.people.addLabel('writer', REPO, number, 'hasten');
  await github.people.comment('writer', REPO, number, '/hasten approve');
  await github.whenWebhooksSettled();
  expect(names().sort()).toEqual(['issue_comment.created', 'pull_request.labeled', 'pull_request.opened']);
  const comment = received.find(({ payload }) => 'comment' in payload);
  expect(at(comment?.payload, 'issue', 'pull_request', 'url')).toBeDefined();
  const labelled = received.find(({ payload }) => payload.action === 'labeled');
  expect(labelled?.payload).toMatchObject({ number, pull_request: { number, changed_files: 1 } });
});

test('every event has the fields that all of GitHub’s examples of it have', async () => {
  const { people } = github;
  const issue = await openIssue();
  await people.addLabel('writer', REPO, issue, 'hasten');
  await people.removeLabel('writer', REPO, issue, 'hasten');
  const comment = await people.comment('writer', REPO, issue, 'one');
  await people.editComment('writer', REPO, comment, 'two');
  await people.deleteComment('writer', REPO, comment);
  await people.editIssue('writer', REPO, issue, { title: 'very slow' });
  await people.closeIssue('writer', REPO, issue);
  await people.editIssue('writer', REPO, issue, { state: 'open' });
  const draft = await openPull('shape-draft', true);
  const path = `/repos/${REPO}/pulls/${draft}`;
  const node = textAt((await people.call('writer', 'GET', path)).json, 'node_id');
  await people.call('writer', 'POST', '/graphql', {
    query: `mutation { markPullRequestReadyForReview(input: {pullRequestId: "${node}"}) { pullRequest { id } } }`,
  });
  await people.call('writer', 'PATCH', path, { title: 'edited' });
  await people.closePull('writer', REPO, draft);
  await people.call('writer', 'PATCH', path, { state: 'open' });
  await people.addLabel('writer', REPO, draft, 'hasten');
  await people.mergePull('writer', REPO, draft);
  for (const action of ['created', 'deleted', 'suspend', 'unsuspend']) {
    await github.announceInstallation('installation', action);
  }
  for (const action of ['added', 'removed']) {
    await github.announceInstallation('installation_repositories', action);
  }
  await github.whenWebhooksSettled();
  expect(new Set(names()).size).toBe(21);
  const edited = received.find(({ payload }) => 'comment' in payload && payload.action === 'edited');
  expect(edited?.payload.changes).toEqual({ body: { from: 'one' } });
  for (const { headers, payload } of received) {
    const event = String(headers['x-github-event']);
    expect(missingFields(event, payload), `${event}.${String(payload.action)}`).toEqual([]);
  }
});

test('the shape check sees a field that is missing', async () => {
  const number = await openIssue();
  const [opened] = received;
  const { sender: _sender, ...rest } = opened?.payload ?? {};
  const issue = { ...asObject(rest.issue), user: { login: 'reader' } };
  expect(missingFields('issues', { ...rest, issue })).toEqual(
    expect.arrayContaining(['sender', 'issue.user.id']),
  );
  expect(number).toBeGreaterThan(0);
});

test('a refused delivery is not repeated, and is listed with its status', async () => {
  status = 500;
  await openIssue();
  expect(received).toHaveLength(1);
  const jwt = appToken(github.app, Date.now());
  const list = await rest(github, jwt, 'GET', '/app/hook/deliveries?per_page=1');
  expect(list.json).toMatchObject([
    { status_code: 500, event: 'issues', action: 'opened', redelivery: false },
  ]);
  expect(list.headers.get('link')).toContain('cursor=');
});

test('a redelivery has the same id and body', async () => {
  await openIssue();
  const jwt = appToken(github.app, Date.now());
  const [latest] = asObjects((await rest(github, jwt, 'GET', '/app/hook/deliveries')).json);
  const path = `/app/hook/deliveries/${String(latest?.id)}`;
  const single = await rest(github, jwt, 'GET', path);
  expect(textAt(single.json, 'request', 'payload', 'action')).toBe('opened');
  expect((await rest(github, jwt, 'POST', `${path}/attempts`)).status).toBe(202);
  await github.whenWebhooksSettled();
  expect(received).toHaveLength(2);
  expect(received[1]?.headers['x-github-delivery']).toBe(received[0]?.headers['x-github-delivery']);
  expect(received[1]?.text).toBe(received[0]?.text);
  expect(github.deliveries().at(-1)).toMatchObject({ redelivery: true, statusCode: 202 });
});

test('a delivery is replayed as often as asked, with the same or with new ids', async () => {
  await openIssue();
  const guid = github.deliveries().at(-1)?.guid ?? '';
  expect(await github.replayDelivery(guid, { times: 2 })).toEqual([202, 202]);
  expect(await github.replayDelivery(guid, { changedGuid: true })).toEqual([202]);
  const ids = received.map(({ headers }) => headers['x-github-delivery']);
  expect(ids.slice(0, 3)).toEqual([guid, guid, guid]);
  expect(ids[3]).not.toBe(guid);
  expect(new Set(received.map(({ text }) => text)).size).toBe(1);
});

test('any webhook can be sent with a bad signature or none', async () => {
  await github.deliverSigned({ event: 'ping', payload: {}, secret: 'wrong' });
  await github.deliverSigned({ event: 'ping', payload: {}, secret: null, rawBody: 'not json' });
  const wrong = createHmac('sha256', 'wrong').update('{}').digest('hex');
  expect(received[0]?.headers['x-hub-signature-256']).toBe(`sha256=${wrong}`);
  expect(received[1]).toMatchObject({ text: 'not json' });
  expect(received[1]?.headers).not.toHaveProperty('x-hub-signature-256');
});

test('without a target nothing is sent, and a later target gets what comes then', async () => {
  const address = receiver.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  github.setWebhookTarget(undefined);
  await openIssue();
  expect(received).toEqual([]);
  github.setWebhookTarget(`http://127.0.0.1:${port}/later`);
  await openIssue();
  expect(names()).toEqual(['issues.opened']);
});
