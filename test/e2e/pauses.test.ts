import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textAt } from '../support/emulated-github/json.js';
import { freePort } from '../support/free-port.js';
import { checkJournal } from '../support/github-contract/journal-check.js';
import { loadGitHubContract } from '../support/github-contract/openapi-contract.js';
import { writesBenchmark } from '../support/scripted-model/case-script.js';
import { caseOf, smallSubject } from '../support/small-subject.js';
import type { Stage } from '../support/stage.js';
import {
  addRepository,
  expectNothingPushed,
  openIssue,
  pullsIn,
  rows,
  say,
  stateOf,
  untilAnswer,
  untilQuiet,
  untilRun,
} from './stage-views.js';
import { closeStages, openStage, RUN_MS, waitFor } from './support.js';

const subject = smallSubject();
/** The benchmark is used only where the repository has none of its own. */
const script = writesBenchmark(caseOf(subject), { source: subject.benchmark, entry: 'index.js' });

interface Asked {
  readonly repository: string;
  readonly issue: number;
}

let stage: Stage;
/** The issue is by somebody without write permission. */
let outside: Asked;
/** The settings ask before each push. */
let careful: Asked;
/** Neither settings nor a benchmark. */
let bare: Asked;

beforeAll(async () => {
  stage = await openStage(script);
  outside = await ask('outside', subject, 'stranger');
  careful = await ask('careful', smallSubject({ settings: 'approval: before-push\n' }));
  bare = await ask('bare', smallSubject({ configured: false }));
}, 120_000);
afterAll(closeStages);

async function ask(
  name: string,
  files: Parameters<typeof addRepository>[2],
  author?: string,
): Promise<Asked> {
  const repository = await addRepository(stage, name, files);
  const issue = await openIssue(stage, repository, author);
  await stage.github.people.addLabel('writer', repository, issue, 'hasten');
  return { repository, issue };
}

/** A comment whose webhook does not reach the service; gives the delivery's id. */
async function sayUnheard(repository: string, issue: number, text: string): Promise<string> {
  const { github } = stage;
  github.setWebhookTarget(`http://127.0.0.1:${await freePort()}/nobody`);
  try {
    await say(stage, repository, issue, text);
    await github.whenWebhooksSettled();
  } finally {
    github.setWebhookTarget(`${stage.serviceUrl}/api/github/webhooks`);
  }
  const lost = github
    .deliveries()
    .findLast(({ payload, action }) => action === 'created' && textAt(payload, 'comment', 'body') === text);
  expect(lost).toMatchObject({ event: 'issue_comment', statusCode: 0 });
  return lost?.guid ?? '';
}

/** Waits for the end of a measured run; the three runs of this file share the machine. */
const untilMeasured = ({ repository }: Asked, state: string) =>
  untilRun(stage, repository, state, { timeoutMs: RUN_MS });

describe('an issue by somebody without write permission', () => {
  it(
    'pauses before anything is pushed; only a newer approval by a person who may write goes on',
    async () => {
      const { repository, issue } = outside;
      await untilMeasured(outside, 'evaluating');
      const early = await sayUnheard(repository, issue, '/hasten approve');

      await untilMeasured(outside, 'paused');
      const question = await untilAnswer(stage, repository, issue, /asks before it pushes/);
      expect(question).toContain('+  return [...new Set(values)];');
      expect(question).toContain('/hasten reject');
      await expectNothingPushed(stage, repository);

      expect(await stage.github.replayDelivery(early)).toEqual([202]);
      await untilAnswer(stage, repository, issue, /older than the question/);
      for (const person of ['stranger', 'reader'])
        await say(stage, repository, issue, '/hasten approve', person);
      await untilQuiet(stage);
      expect(stateOf(stage, repository)).toBe('paused');
      await expectNothingPushed(stage, repository);

      const approval = await say(stage, repository, issue, '/hasten approve');
      const ended = await untilRun(stage, repository, 'listening');
      expect(ended).toMatchObject({ outcome: 'pull-request' });
      const [pull, ...more] = await pullsIn(stage, repository);
      expect(more).toEqual([]);
      expect(pull?.draft).toBe(false);
      await untilQuiet(stage);
      expect(stage.github.reactions(repository, `issues/comments/${approval}`)).toEqual(['+1']);
      expect(
        rows(
          stage,
          'select decision, decided_by, comment_id from decision where run_id = ?',
          ended.run ?? '',
        ),
      ).toEqual([{ decision: 'APPROVED', decided_by: 'writer', comment_id: approval }]);
    },
    RUN_MS,
  );
});

describe('a repository that asks before each push', () => {
  it(
    'gets nothing pushed when its question is rejected',
    async () => {
      const { repository, issue } = careful;
      await untilMeasured(careful, 'paused');
      await untilAnswer(stage, repository, issue, /asks before it pushes/);
      await say(stage, repository, issue, '/hasten status');
      await untilAnswer(stage, repository, issue, /is \*\*paused\*\*.*waits for an answer/);
      await say(stage, repository, issue, '/hasten reject the order must stay\n\nSorry.');
      const ended = await untilRun(stage, repository, 'listening');
      expect(ended).toMatchObject({
        outcome: 'rejected',
        reason: 'Rejected by writer: the order must stay',
      });
      await untilAnswer(stage, repository, issue, /the question was rejected/);
      await expectNothingPushed(stage, repository);
      await say(stage, repository, issue, '/hasten approve');
      await untilAnswer(stage, repository, issue, /Nothing here waits for an approval/);
      await expectNothingPushed(stage, repository);
    },
    RUN_MS,
  );
});

describe('a repository without a benchmark', () => {
  it(
    'gets a draft that says whose benchmark it is; an approval on it makes it ready, closing it is remembered',
    async () => {
      const { repository } = bare;
      const ended = await untilMeasured(bare, 'listening');
      expect(ended).toMatchObject({ outcome: 'pull-request' });
      const [draft] = await pullsIn(stage, repository);
      expect(draft).toMatchObject({ draft: true });
      expect(draft?.body).toMatch(/benchmark was written by Hasten/);
      const number = draft?.number ?? 0;

      await say(stage, repository, number, '/hasten approve', 'reader');
      await untilQuiet(stage);
      expect((await pullsIn(stage, repository))[0]).toMatchObject({ draft: true });
      await say(stage, repository, number, '/hasten approve');
      await untilAnswer(stage, repository, number, /writer approved this draft/);
      expect((await pullsIn(stage, repository))[0]).toMatchObject({ draft: false });
      expect(stage.github.count({ path: '/graphql', caller: 'installation' })).toBe(1);
      await say(stage, repository, number, '/hasten approve');
      await untilAnswer(stage, repository, number, /ready already/);

      await stage.github.people.closePull('writer', repository, number);
      await waitFor(
        stage,
        () => rows(stage, 'select fate from lesson where run_id = ?', ended.run ?? '')[0]?.fate === 'closed',
        30_000,
        'the lesson to know that the pull request was closed',
      );
      expect(rows(stage, 'select fate from pull_request where run_id = ?', ended.run ?? '')).toEqual([
        { fate: 'closed' },
      ]);
    },
    RUN_MS,
  );
});

it('all of it asks GitHub only for what GitHub describes', () => {
  expect(checkJournal(loadGitHubContract(), stage.github.requests())).toEqual([]);
});
