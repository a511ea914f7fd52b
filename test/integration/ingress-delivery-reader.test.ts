import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Delivery, Reading } from '../../src/domain/delivery.js';
import { PeerError } from '../../src/domain/errors.js';
import { createGithubAccess, type GithubAccess } from '../../src/ingress/github-access.js';
import { GithubDeliveryReader } from '../../src/ingress/github-delivery-reader.js';
import { HELP_REPLY, PULL_REQUEST_REPLY, SEVERAL_REPLY } from '../../src/ingress/replies.js';
import { WEBHOOK_PATH } from '../../src/ingress/routes.js';
import { type EmulatedGitHub, startEmulatedGitHub } from '../support/emulated-github/emulated-github.js';
import type { JournalEntry } from '../support/emulated-github/journal.js';
import { loadGitHubContract } from '../support/github-contract/openapi-contract.js';
import { ALERT_TOKEN, asDelivery, type IngressRig, startIngressRig } from '../support/ingress-rig.js';

const contract = loadGitHubContract();

/** Where a request is not as GitHub's published description has it. */
function requestProblems(entry: JournalEntry): string[] {
  const { method, path, requestBody, responseBody, status = 200 } = entry;
  return contract
    .check({ method, path, requestBody, responseBody, status })
    .filter(({ side }) => side === 'request')
    .map(({ operation, problems }) => `${operation}: ${problems.join(', ')}`);
}

const signal = new AbortController().signal;
const BODY = 'parse() is slow with long lists';

describe('reading deliveries with GitHub asked again', () => {
  let github: EmulatedGitHub;
  let rig: IngressRig;
  let access: GithubAccess;
  let reader: GithubDeliveryReader;
  let count = 0;
  let repository = '';
  let head = '';

  beforeAll(async () => {
    github = await startEmulatedGitHub();
  });
  afterAll(() => github.close());

  beforeEach(async () => {
    count += 1;
    const name = `web-${count}`;
    repository = `acme/${name}`;
    head = await github.createRepository({
      owner: 'acme',
      name,
      files: { 'index.js': 'export const a = 1;\n' },
    });
    rig = await startIngressRig({
      APP_ID: String(github.app.appId),
      PRIVATE_KEY: github.app.privateKey,
      WEBHOOK_SECRET: github.app.webhookSecret,
      GHE_HOST: github.host,
      GHE_PROTOCOL: 'http',
      HASTEN_ALLOWED_ACCOUNTS: 'acme',
      HASTEN_ALERT_SOURCES: JSON.stringify({
        am: { token: ALERT_TOKEN, repositories: [repository, 'acme/gone'] },
      }),
    });
    github.setWebhookTarget(`${rig.url}${WEBHOOK_PATH}`);
    github.clearRequests();
    const { app, allowedAccounts, alertSources } = rig.settings;
    if (app === null) throw new Error('the settings have no App');
    access = createGithubAccess({ app, github: rig.settings.github, log: pino({ level: 'silent' }) });
    reader = new GithubDeliveryReader({ access, allowedAccounts, alertSources });
  });
  afterEach(async () => {
    expect(ownRequests().length).toBeGreaterThan(0);
    expect(ownRequests().flatMap((entry) => requestProblems(entry))).toEqual([]);
    const writes = ownRequests().filter(
      ({ method, path }) => method !== 'GET' && !path.endsWith('/access_tokens'),
    );
    expect(writes).toEqual([]);
    github.setWebhookTarget(undefined);
    github.clearFaults();
    await rig.close();
  });

  /** What the product asked of GitHub, as the App or with its tokens. */
  function ownRequests(): JournalEntry[] {
    return github.requests().filter(({ caller }) => caller === 'app' || caller === 'installation');
  }

  async function delivered(): Promise<readonly Delivery[]> {
    await github.whenWebhooksSettled();
    return (await rig.deliveries()).map(asDelivery);
  }

  /** What the newest stored delivery means. */
  async function readLast(): Promise<Reading> {
    const last = (await delivered()).at(-1);
    if (last === undefined) throw new Error('nothing was stored');
    return reader.read(last, signal);
  }

  function openIssue(login = 'writer', labels: readonly string[] = []): Promise<number> {
    return github.people.openIssue(login, repository, { title: 'Slow parser', body: BODY, labels });
  }

  it('takes a label of a person with write permission as a trigger, pinned to text and head of that moment', async () => {
    const number = await openIssue('owner');
    await github.people.addLabel('writer', repository, number, 'hasten');
    const [delivery] = await delivered();
    const reading = await readLast();
    expect(reading).toEqual({
      kind: 'trigger',
      trigger: {
        id: `github:${delivery?.id}`,
        source: 'issue-label',
        repository: {
          id: delivery?.repositoryId,
          owner: 'acme',
          name: repository.split('/')[1],
          installationId: github.app.installationId,
          defaultBranch: 'main',
          cloneUrl: `http://${github.host}/${repository}.git`,
        },
        issueNumber: number,
        title: 'Slow parser',
        body: BODY,
        hint: null,
        actor: 'writer',
        outsideText: false,
        baseCommit: head,
        requestedAt: delivery?.receivedAt,
        collapseKey: `issue:${number}`,
      },
    });
    expect(await readLast()).toEqual(reading);
  });

  it('marks text of somebody without write permission, and text that changed since it was asked', async () => {
    const outside = await openIssue('stranger');
    await github.people.addLabel('owner', repository, outside, 'hasten');
    expect(await readLast()).toMatchObject({ trigger: { outsideText: true, actor: 'owner' } });
    const changed = await openIssue('owner');
    await github.people.addLabel('owner', repository, changed, 'hasten');
    await delivered();
    await github.people.editIssue('owner', repository, changed, { body: 'something else' });
    expect(await readLast()).toMatchObject({ trigger: { outsideText: true, body: 'something else' } });
  });

  it('ignores labels of people without write permission, labels that are gone, closed issues and issues that are gone', async () => {
    const byTemplate = await openIssue('owner');
    await github.people.addLabel('writer', repository, byTemplate, 'hasten');
    const [delivery] = await delivered();
    if (delivery === undefined) throw new Error('nothing was stored');
    const payload = JSON.parse(delivery.body);
    for (const login of ['reader', 'stranger', 'nobody-of-this-name']) {
      const body = JSON.stringify({ ...payload, sender: { ...payload.sender, login } });
      expect(await reader.read({ ...delivery, body }, signal)).toMatchObject({
        kind: 'ignored',
        reason: expect.stringContaining('no write permission'),
      });
    }
    const renamed = JSON.stringify({ ...payload, sender: { ...payload.sender, id: 999_999 } });
    expect(await reader.read({ ...delivery, body: renamed }, signal)).toMatchObject({ kind: 'ignored' });
    await github.people.removeLabel('owner', repository, byTemplate, 'hasten');
    expect(await reader.read(delivery, signal)).toEqual({
      kind: 'ignored',
      reason: 'the label is gone again',
    });
    await github.people.addLabel('owner', repository, byTemplate, 'hasten');
    await github.people.closeIssue('owner', repository, byTemplate);
    expect(await reader.read(delivery, signal)).toEqual({ kind: 'ignored', reason: 'the issue is closed' });
    const gone = JSON.stringify({ ...payload, issue: { ...payload.issue, number: 4040 } });
    expect(await reader.read({ ...delivery, body: gone }, signal)).toMatchObject({ kind: 'ignored' });
  });

  it('takes /hasten run with its hint, and the commands of a pause, from people with write permission only', async () => {
    const number = await openIssue();
    const id = await github.people.comment(
      'writer',
      repository,
      number,
      'Please:\n\n/hasten run look at parse()',
    );
    expect(await readLast()).toMatchObject({
      kind: 'trigger',
      trigger: {
        source: 'command',
        hint: 'look at parse()',
        actor: 'writer',
        outsideText: false,
        body: BODY,
      },
    });
    await github.people.comment('writer', repository, number, '/hasten approve go on');
    const [, second] = await delivered();
    expect(await readLast()).toMatchObject({
      kind: 'command',
      command: { name: 'approve', text: 'go on', actor: 'writer', issueNumber: number },
    });
    expect(second?.action).toBe('created');
    await github.people.comment('stranger', repository, number, '/hasten cancel');
    expect(await readLast()).toMatchObject({ kind: 'ignored' });
    const [first] = await delivered();
    if (first === undefined) throw new Error('nothing was stored');
    await github.people.editComment('writer', repository, id, '/hasten run something else');
    expect(await reader.read(first, signal)).toEqual({ kind: 'ignored', reason: 'the comment was edited' });
    await github.people.deleteComment('writer', repository, id);
    expect(await reader.read(first, signal)).toMatchObject({ kind: 'ignored' });
    expect(await delivered()).toHaveLength(3);
  });

  it('answers unknown words, several commands and pull requests with one comment', async () => {
    const number = await openIssue();
    await github.people.comment('writer', repository, number, '/hasten explain');
    expect(await readLast()).toMatchObject({ kind: 'reply', issueNumber: number, text: HELP_REPLY });
    await github.people.comment('writer', repository, number, '/hasten approve\n/hasten reject');
    expect(await readLast()).toMatchObject({ kind: 'reply', text: SEVERAL_REPLY });
    await github.people.createBranch('writer', repository, 'topic', head);
    await github.people.commitFile('writer', repository, { path: 'a.js', content: '1', branch: 'topic' });
    const pull = await github.people.openPull('writer', repository, {
      title: 'A',
      head: 'topic',
      base: 'main',
    });
    await github.people.addLabel('writer', repository, pull, 'hasten');
    expect(await readLast()).toMatchObject({ kind: 'reply', issueNumber: pull, text: PULL_REQUEST_REPLY });
    await github.people.comment('writer', repository, pull, '/hasten run');
    expect(await readLast()).toMatchObject({ kind: 'reply', issueNumber: pull, text: PULL_REQUEST_REPLY });
    await github.people.comment('writer', repository, pull, '/hasten status');
    expect(await readLast()).toMatchObject({
      kind: 'command',
      command: { name: 'status', issueNumber: pull },
    });
  });

  it('notices pull requests of Hasten that were merged or closed, and no others', async () => {
    const pulls: number[] = [];
    for (const branch of ['hasten/aaaaaaaaaaaa', 'hasten/bbbbbbbbbbbb', 'topic']) {
      await github.people.createBranch('writer', repository, branch, head);
      await github.people.commitFile('writer', repository, { path: `${branch}.js`, content: '1', branch });
      pulls.push(
        await github.people.openPull('writer', repository, { title: branch, head: branch, base: 'main' }),
      );
    }
    const [merged = 0, closed = 0, other = 0] = pulls;
    await github.people.mergePull('owner', repository, merged);
    expect(await readLast()).toMatchObject({
      kind: 'pull-request-ended',
      pullNumber: merged,
      fate: 'merged',
    });
    await github.people.closePull('writer', repository, closed);
    expect(await readLast()).toMatchObject({ pullNumber: closed, fate: 'closed', by: 'writer' });
    await github.people.closePull('writer', repository, other);
    expect(await delivered()).toHaveLength(2);
  });

  it('turns an alert into a trigger for the repository that its label names', async () => {
    const answer = await postAlert({ alertname: 'HighLatency', hasten_repo: repository.toUpperCase() });
    expect(answer.status).toBe(202);
    expect(await readLast()).toMatchObject({
      kind: 'trigger',
      trigger: {
        source: 'alert',
        issueNumber: null,
        title: 'p95 2s on /checkout',
        actor: 'alert:am',
        outsideText: false,
        baseCommit: head,
        collapseKey: 'alert:4e3bb4c33813f6ff',
        repository: {
          installationId: github.app.installationId,
          cloneUrl: `http://${github.host}/${repository}.git`,
        },
      },
    });
    expect((await postAlert({ alertname: 'HighLatency', hasten_repo: 'acme/gone' }, 'other')).status).toBe(
      202,
    );
    expect(await readLast()).toMatchObject({ kind: 'ignored' });
  });

  it('throws a retryable error while GitHub is down or limits requests, and reads after it', async () => {
    const number = await openIssue();
    await github.people.addLabel('writer', repository, number, 'hasten');
    const [delivery] = await delivered();
    if (delivery === undefined) throw new Error('nothing was stored');
    const path = `/repos/${repository}/issues/${number}`;
    github.injectFault({ path, effect: { kind: 'answer', status: 502 } });
    await expect(reader.read(delivery, signal)).rejects.toMatchObject({
      code: 'GITHUB_FAILED',
      retryable: true,
    });
    github.injectFault({ path, effect: { kind: 'drop-before-effect' } });
    await expect(reader.read(delivery, signal)).rejects.toMatchObject({
      code: 'GITHUB_UNREACHABLE',
      retryable: true,
    });
    github.injectFault({
      path,
      effect: {
        kind: 'answer',
        status: 403,
        headers: { 'retry-after': '7' },
        message: 'secondary rate limit',
      },
    });
    await expect(reader.read(delivery, signal)).rejects.toMatchObject({
      code: 'GITHUB_RATE_LIMITED',
      retryAfterMs: 7000,
    });
    github.revokeInstallationTokens();
    await expect(reader.read(delivery, signal)).rejects.toBeInstanceOf(PeerError);
    expect(await reader.read(delivery, signal)).toMatchObject({ kind: 'trigger' });
  });

  it('mints one token for a repository and its permissions, and asks for no more than it needs', async () => {
    const number = await openIssue();
    await github.people.addLabel('writer', repository, number, 'hasten');
    const reading = await readLast();
    if (reading.kind !== 'trigger') throw new Error('no trigger');
    await readLast();
    const path = `/app/installations/${github.app.installationId}/access_tokens`;
    expect(github.count({ method: 'POST', path })).toBe(1);
    const clone = await Promise.all([1, 2].map(() => access.tokenFor(reading.trigger.repository, signal)));
    expect(clone[0]).toMatch(/^ghs_/);
    expect(clone[1]).toBe(clone[0]);
    const minted = github.requests({ method: 'POST', path });
    expect(minted.map(({ requestBody }) => requestBody)).toEqual([
      {
        repository_ids: [Number(reading.trigger.repository.id)],
        permissions: { metadata: 'read', contents: 'read', issues: 'read', pull_requests: 'read' },
      },
      {
        repository_ids: [Number(reading.trigger.repository.id)],
        permissions: { metadata: 'read', contents: 'read' },
      },
    ]);
    expect(await access.tokenFor({ ...reading.trigger.repository, installationId: null }, signal)).toBeNull();
    expect(await access.whoAmI(signal)).toEqual({ id: 4711, slug: 'hasten-rig', login: 'hasten-rig[bot]' });
    expect(rig.logged()).not.toContain('ghs_');
  });

  async function postAlert(
    labels: Record<string, string>,
    fingerprint = '4e3bb4c33813f6ff',
  ): Promise<Response> {
    const alert = {
      status: 'firing',
      labels,
      annotations: { summary: 'p95 2s on /checkout' },
      startsAt: '2026-11-30T18:35:15.999Z',
      endsAt: '0001-01-01T00:00:00Z',
      fingerprint,
    };
    const body = JSON.stringify({ version: '4', groupKey: '{}:{}', status: 'firing', alerts: [alert] });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${ALERT_TOKEN}` };
    return fetch(`${rig.url}/alerts`, { method: 'POST', headers, body });
  }
});
