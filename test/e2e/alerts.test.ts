import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Alerting, startAlerting } from '../support/alertmanager.js';
import { checkJournal } from '../support/github-contract/journal-check.js';
import { loadGitHubContract } from '../support/github-contract/openapi-contract.js';
import { findsNothing, scriptFromCase } from '../support/scripted-model/case-script.js';
import { caseOf, smallSubject } from '../support/small-subject.js';
import type { Stage } from '../support/stage.js';
import {
  addRepository,
  callsSince,
  modelOf,
  pullsIn,
  rows,
  toldTo,
  untilAnswer,
  untilRun,
} from './stage-views.js';
import { closeStages, openStage, REPOSITORY, RUN_MS } from './support.js';

const TOKEN = 'a-token-of-the-prometheus-of-this-test';
/** Has nothing to test or measure. */
const PROSE = 'acme/prose';
const subject = smallSubject();
const issueShape = z.looseObject({
  number: z.number(),
  title: z.string(),
  body: z.string(),
  user: z.looseObject({ login: z.string() }),
});

let stage: Stage;
let alerting: Alerting;

beforeAll(async () => {
  const sources = { prometheus: { token: TOKEN, repositories: [REPOSITORY, PROSE] } };
  stage = await openStage(scriptFromCase(caseOf(subject)), {
    env: { HASTEN_ALERT_SOURCES: JSON.stringify(sources) },
  });
  alerting = await startAlerting({
    hastenUrl: `${stage.serviceUrl}/alerts`,
    token: TOKEN,
    labels: { hasten_repo: REPOSITORY, route: '/unique' },
    annotations: { summary: 'unique() takes {{ $value }} s on {{ $labels.route }}' },
  });
}, 120_000);
afterAll(async () => {
  await alerting?.close();
  await closeStages();
});

async function issues(repository = REPOSITORY) {
  return z.array(issueShape).parse(await stage.github.issues(repository));
}

async function post(token: string, repository: string) {
  const alert = {
    status: 'firing',
    labels: { alertname: 'Slow', hasten_repo: repository },
    annotations: {},
    startsAt: '2026-05-01T10:00:00Z',
    fingerprint: 'f00f',
  };
  const response = await fetch(`${stage.serviceUrl}/alerts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ version: '4', groupKey: 'g', status: 'firing', alerts: [alert] }),
  });
  const json: unknown = await response.json();
  return { status: response.status, json };
}

describe('an alert', () => {
  it('with a wrong token, or for a repository that its source may not name, starts nothing', async () => {
    expect(await post('a-token-of-somebody-else', REPOSITORY)).toMatchObject({
      status: 401,
      json: { error: 'BAD_TOKEN' },
    });
    expect(await post(TOKEN, 'acme/other')).toMatchObject({
      json: { accepted: 0, refused: [{ status: 403, error: 'REPOSITORY_NOT_LISTED' }] },
    });
    expect(rows(stage, 'select * from delivery')).toEqual([]);
    expect(await issues()).toEqual([]);
  });

  it(
    'of a real Prometheus opens one tracking issue and ends in a pull request; firing again uses the same issue',
    async () => {
      alerting.fire();
      const ended = await untilRun(stage, REPOSITORY, 'listening', { timeoutMs: RUN_MS });
      expect(ended).toMatchObject({ outcome: 'pull-request' });
      const [issue, ...more] = await issues();
      expect(more).toEqual([]);
      expect(issue?.title).toBe('unique() takes 2 s on /unique');
      expect(issue?.user.login).toMatch(/\[bot\]$/);
      expect(issue?.body).toContain('HighLatency');
      const [pull, ...pulls] = await pullsIn(stage, REPOSITORY);
      expect(pulls).toEqual([]);
      await untilAnswer(stage, REPOSITORY, issue?.number ?? 0, new RegExp(`#${pull?.number}`));
      expect(toldTo(modelOf(stage).calls()[0])).toContain('HighLatency');

      modelOf(stage).play(findsNothing('It is as fast as it gets.'));
      const before = modelOf(stage).calls().length;
      alerting.resolve();
      await expect
        .poll(() => JSON.stringify(stage.log()).match(/POST \/alerts 202/g)?.length ?? 0, {
          timeout: 30_000,
          interval: 200,
        })
        .toBeGreaterThanOrEqual(3);
      alerting.fire();
      const again = await untilRun(stage, REPOSITORY, 'listening', { times: 2 });
      expect(again).toMatchObject({ outcome: 'nothing-to-gain' });
      expect(callsSince(stage, before).length).toBeGreaterThan(0);
      expect(await issues()).toHaveLength(1);
      await untilAnswer(stage, REPOSITORY, issue?.number ?? 0, /It is as fast as it gets/);
    },
    RUN_MS,
  );

  it(
    'about a repository with nothing to measure tells so on its tracking issue, also when GitHub was slow to open it',
    async () => {
      await addRepository(stage, 'prose', { files: new Map([['README.md', Buffer.from('# Prose\n')]]) });
      stage.github.injectFault({
        method: 'POST',
        path: `/repos/${PROSE}/issues`,
        times: 1,
        effect: { kind: 'delay', milliseconds: 4000 },
      });
      expect(await post(TOKEN, PROSE)).toMatchObject({ status: 202, json: { accepted: 1 } });
      expect(await untilRun(stage, PROSE, 'listening')).toMatchObject({ outcome: 'failed' });
      const [issue, ...more] = await issues(PROSE);
      expect(more).toEqual([]);
      await untilAnswer(stage, PROSE, issue?.number ?? 0, /nothing to test or measure/);
    },
    RUN_MS,
  );
});

it('all of it asks GitHub only for what GitHub describes', () => {
  expect(checkJournal(loadGitHubContract(), stage.github.requests())).toEqual([]);
});
