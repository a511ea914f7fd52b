import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findsNothing, scriptFromCase } from '../support/scripted-model/case-script.js';
import { caseOf, type SmallSubject, smallSubject } from '../support/small-subject.js';
import type { Stage } from '../support/stage.js';
import { publishedPayload } from '../support/webhook-examples.js';
import {
  addRepository,
  callsSince,
  expectNothingPushed,
  modelOf,
  openIssue,
  pullsIn,
  rows,
  statesOf,
  toldTo,
  untilAnswer,
  untilQuiet,
  untilRun,
} from './stage-views.js';
import { closeStages, openStage, RUN_MS } from './support.js';

const nothing = findsNothing('The list is never long where it is used.');
const subject = smallSubject();
const MAX_BODY_BYTES = 100_000;

let stage: Stage;
/** Its model answers nothing any more; its run waits and retries while the other tests work. */
let forsaken: Stage;
const forsakenRepository = 'acme/forsaken';
let forsakenIssue = 0;

beforeAll(async () => {
  forsaken = await openStage(nothing);
  await modelOf(forsaken).close();
  await addRepository(forsaken, 'forsaken', smallSubject({ settings: 'attempts: 2\n' }));
  forsakenIssue = await labelled(forsaken, forsakenRepository);
  stage = await openStage(nothing);
}, 120_000);
afterAll(closeStages);

async function labelled(on: Stage, repository: string): Promise<number> {
  const issue = await openIssue(on, repository);
  await on.github.people.addLabel('writer', repository, issue, 'hasten');
  return issue;
}

interface Post {
  readonly body: string;
  readonly secret?: string;
  readonly event?: string;
}

/** Posts a webhook as GitHub does, with an answer whose headers can be read. */
async function post(on: Stage, { body, secret, event }: Post) {
  const key = secret ?? on.github.app.webhookSecret;
  const response = await fetch(`${on.serviceUrl}/api/github/webhooks`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': event ?? 'issues',
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
    },
    body,
  });
  const json: unknown = JSON.parse(await response.text());
  return { status: response.status, retryAfter: response.headers.get('retry-after'), json };
}

/** A label set by a person on an issue of a repository that is served. */
function labelledPayload(number: number): string {
  const repository = { id: 1, name: 'app', owner: { login: 'acme' } };
  const issue = { number, title: `slow ${number}`, body: 'a canary in the body' };
  const sender = { login: 'writer', id: 2, type: 'User' };
  return JSON.stringify(
    publishedPayload('issues', 'labeled', { repository, issue, sender, label: { name: 'hasten' } }),
  );
}

const stored = (on: Stage) => rows(on, 'select * from delivery').length;

describe('the webhook address', () => {
  it(
    'refuses bad signatures, malformed and oversize bodies, and what is above its bounds; none of it is stored',
    async () => {
      const bounded = await openStage(nothing, {
        env: {
          HASTEN_MAX_BODY_BYTES: String(MAX_BODY_BYTES),
          HASTEN_BUCKET_BURST: '3',
          HASTEN_BUCKET_RATE: '0.02',
          HASTEN_PENDING_TOTAL: '1',
        },
      });
      const forged = await post(bounded, { body: labelledPayload(1), secret: 'not the secret' });
      expect(forged).toMatchObject({ status: 401, json: { error: 'BAD_SIGNATURE' } });
      const noJson = await post(bounded, { body: '{"action": "labeled"' });
      expect(noJson).toMatchObject({ status: 400, json: { error: 'MALFORMED_PAYLOAD' } });
      const shapeless = await post(bounded, { body: JSON.stringify({ action: 'labeled', issue: 7 }) });
      expect(shapeless).toMatchObject({ status: 400, json: { error: 'MALFORMED_PAYLOAD' } });
      const large = JSON.stringify({ action: 'labeled', padding: 'x'.repeat(MAX_BODY_BYTES) });
      expect(await post(bounded, { body: large })).toMatchObject({
        status: 413,
        json: { error: 'BODY_TOO_LARGE' },
      });
      expect(stored(bounded)).toBe(0);

      // GitHub does not answer, so the first delivery stays pending.
      bounded.github.injectFault({ path: /./, effect: { kind: 'hang' } });
      expect((await post(bounded, { body: labelledPayload(2) })).status).toBe(202);
      expect(stored(bounded)).toBe(1);
      const full = await post(bounded, { body: labelledPayload(3) });
      expect(full).toMatchObject({ status: 503, json: { error: 'INBOX_FULL' } });
      expect(Number(full.retryAfter)).toBeGreaterThan(0);
      await post(bounded, { body: labelledPayload(4) });
      const tooMany = await post(bounded, { body: labelledPayload(5) });
      expect(tooMany).toMatchObject({ status: 429, json: { error: 'TOO_MANY_REQUESTS' } });
      expect(Number(tooMany.retryAfter)).toBeGreaterThan(0);
      expect(stored(bounded)).toBe(1);
      expect(JSON.stringify(bounded.log())).not.toContain('a canary in the body');
    },
    RUN_MS,
  );
});

describe('a repository', () => {
  it(
    'with nothing to test or measure gets a comment that says what is missing and how to set it',
    async () => {
      const files = new Map([['README.md', Buffer.from('# Prose\n')]]);
      const repository = await addRepository(stage, 'prose', { files });
      const before = modelOf(stage).calls().length;
      const issue = await labelled(stage, repository);
      expect(await untilRun(stage, repository, 'listening')).toMatchObject({ outcome: 'failed' });
      const report = await untilAnswer(stage, repository, issue, /nothing to test or measure/);
      expect(report).toContain('.github/hasten.yml');
      expect(report).toContain('benchmark:');
      expect(report).toMatch(/starts again/);
      expect(callsSince(stage, before)).toEqual([]);
    },
    RUN_MS,
  );

  it(
    'with invalid settings gets a comment that names key, value and what is allowed',
    async () => {
      const wrong = smallSubject({ settings: 'attempts: 99\nminimum_effect: 2\napproval: maybe\n' });
      const repository = await addRepository(stage, 'misconfigured', wrong);
      const issue = await labelled(stage, repository);
      expect(await untilRun(stage, repository, 'listening')).toMatchObject({ outcome: 'failed' });
      const report = await untilAnswer(stage, repository, issue, /cannot be used/);
      expect(report).toMatch(/attempts is 99; allowed: a whole number from 1 to 3/);
      expect(report).toMatch(/approval is "maybe"; allowed: one of auto, before-push, draft, none/);
      expect(report).toMatch(/minimum_effect: unknown key; allowed: .*minimumEffect/);
    },
    RUN_MS,
  );
});

describe('a model', () => {
  it(
    'that answers outside the schema once is told so and goes on',
    async () => {
      const repository = await addRepository(stage, 'clumsy');
      const before = modelOf(stage).calls().length;
      modelOf(stage).fail({ kind: 'outside-schema' });
      await labelled(stage, repository);
      expect(await untilRun(stage, repository, 'listening')).toMatchObject({ outcome: 'nothing-to-gain' });
      const [refused, repaired] = callsSince(stage, before);
      expect(refused?.fault).toBe('outside-schema');
      expect(toldTo(repaired)).toContain('The arguments of read_file');
      expect(statesOf(stage, repository)).toEqual(['planning', 'reporting', 'listening']);
    },
    RUN_MS,
  );

  it(
    'that is busy, fails and hangs up is asked again, when it said so, and the run ends in a pull request',
    async () => {
      modelOf(stage).play(scriptFromCase(caseOf(subject)));
      const repository = await addRepository(stage, 'patient', subject as SmallSubject);
      const before = modelOf(stage).calls().length;
      modelOf(stage).fail(
        { kind: 'rate-limit', retryAfterSeconds: 2 },
        { kind: 'status', status: 500 },
        { kind: 'cut' },
      );
      const issue = await labelled(stage, repository);
      const ended = await untilRun(stage, repository, 'listening', { timeoutMs: RUN_MS });
      expect(ended).toMatchObject({ outcome: 'pull-request' });
      const [limited, failed, cut, answered] = callsSince(stage, before);
      expect([limited, failed, cut, answered].map((call) => call?.fault)).toEqual([
        'rate-limit',
        'status',
        'cut',
        null,
      ]);
      expect((failed?.at ?? 0) - (limited?.at ?? 0)).toBeGreaterThanOrEqual(2000);
      expect((cut?.at ?? 0) - (failed?.at ?? 0)).toBeGreaterThanOrEqual(250);
      const [pull, ...more] = await pullsIn(stage, repository);
      expect(more).toEqual([]);
      await untilAnswer(stage, repository, issue, new RegExp(`#${pull?.number}`));
    },
    RUN_MS,
  );

  it(
    'that is gone for good ends the run with the reason, after bounded tries',
    async () => {
      const ended = await untilRun(forsaken, forsakenRepository, 'listening', { timeoutMs: RUN_MS });
      expect(ended.outcome).toBe('failed');
      expect(ended.reason).toMatch(/All 2 attempts failed\. Last: plan: .*could not be reached/);
      const report = await untilAnswer(forsaken, forsakenRepository, forsakenIssue, /did not manage it/);
      expect(report).toContain('could not be reached');
      await expectNothingPushed(forsaken, forsakenRepository);
      await untilQuiet(forsaken);
      expect(rows(forsaken, "select idem from effect where status in ('pending', 'inflight')")).toEqual([]);
      const [row] = rows(forsaken, 'select coalesce(sum(micro_usd), 0) as micro from reservation');
      expect(row).toEqual({ micro: 0 });
    },
    RUN_MS,
  );
});
