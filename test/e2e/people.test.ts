import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkJournal } from '../support/github-contract/journal-check.js';
import { loadGitHubContract } from '../support/github-contract/openapi-contract.js';
import { findsNothing } from '../support/scripted-model/case-script.js';
import type { Stage } from '../support/stage.js';
import {
  addRepository,
  answers,
  callsSince,
  expectNothingPushed,
  lingers,
  modelOf,
  openIssue,
  outcomesOf,
  say,
  stateOf,
  toldTo,
  untilAnswer,
  untilQuiet,
  untilRun,
} from './stage-views.js';
import { closeStages, openStage, RUN_MS } from './support.js';

let stage: Stage;
const nothing = findsNothing('The list is never long where it is used.');

beforeAll(async () => {
  stage = await openStage(nothing, { modelDelayMs: 200 });
});
afterAll(closeStages);

describe('people who ask for a run', () => {
  it(
    'give a hint with /hasten run that reaches the model',
    async () => {
      const repository = await addRepository(stage, 'asked');
      const before = modelOf(stage).calls().length;
      const issue = await openIssue(stage, repository);
      await say(stage, repository, issue, 'Good idea?\n\n/hasten run look at how seen grows');
      const ended = await untilRun(stage, repository, 'listening');
      expect(ended).toMatchObject({ outcome: 'nothing-to-gain' });
      const [first] = callsSince(stage, before);
      expect(first?.station).toBe('planning');
      expect(toldTo(first)).toContain('look at how seen grows');
      expect(stage.github.reactions(repository, `issues/${issue}`)).toEqual(['eyes']);
      const [report, ...more] = await answers(stage, repository, issue);
      expect(more).toEqual([]);
      expect(report).toContain('The list is never long where it is used.');
    },
    RUN_MS,
  );

  it(
    'start nothing without write permission, and bots never do',
    async () => {
      const repository = await addRepository(stage, 'unasked');
      const issue = await openIssue(stage, repository, 'stranger');
      for (const person of ['reader', 'stranger']) {
        await expect(stage.github.people.addLabel(person, repository, issue, 'hasten')).rejects.toThrow(
          /40[34]/,
        );
        await say(stage, repository, issue, '/hasten run', person);
      }
      await stage.github.people.addLabel('writer', repository, issue, 'slow');
      await stage.github.whenWebhooksSettled();
      const labelled = stage.github.deliveries().at(-1);
      expect(labelled?.action).toBe('labeled');
      const hasten = { name: 'hasten' };
      for (const sender of [
        { login: 'dependabot[bot]', id: 49_699_333, type: 'Bot' },
        { login: 'reader', id: 3, type: 'User' },
      ]) {
        const payload = { ...labelled?.payload, label: hasten, sender };
        const { status } = await stage.github.deliverSigned({ event: 'issues', payload });
        expect(status).toBe(202);
      }
      await untilQuiet(stage);
      expect(outcomesOf(stage, repository)).toEqual([]);
      expect(await answers(stage, repository, issue)).toEqual([]);
    },
    RUN_MS,
  );

  it(
    'get one sentence for a label on a pull request',
    async () => {
      const repository = await addRepository(stage, 'labelled-pull');
      const { people } = stage.github;
      const base = (await stage.github.branches(repository)).get('main') ?? '';
      await people.createBranch('writer', repository, 'idea', base);
      await people.commitFile('writer', repository, {
        path: 'notes.md',
        content: 'faster\n',
        branch: 'idea',
      });
      const pull = await people.openPull('writer', repository, { title: 'Idea', head: 'idea', base: 'main' });
      await people.addLabel('writer', repository, pull, 'hasten');
      const answer = await untilAnswer(stage, repository, pull, /works from issues for now/);
      expect(answer).toContain('/hasten run');
      await untilQuiet(stage);
      expect(await answers(stage, repository, pull)).toHaveLength(1);
      expect(outcomesOf(stage, repository)).toEqual([]);
    },
    RUN_MS,
  );
});

describe('a busy repository', () => {
  it(
    'tells later issues their place, lets one go, and starts the next by itself',
    async () => {
      modelOf(stage).play(lingers());
      const repository = await addRepository(stage, 'busy');
      const { people } = stage.github;
      const first = await openIssue(stage, repository);
      await people.addLabel('writer', repository, first, 'hasten');
      await untilRun(stage, repository, 'planning');
      const second = await openIssue(stage, repository);
      await people.addLabel('writer', repository, second, 'hasten');
      await untilAnswer(stage, repository, second, /waits at place 1/);
      const third = await openIssue(stage, repository);
      await say(stage, repository, third, '/hasten run');
      await untilAnswer(stage, repository, third, /waits at place 2/);

      await say(stage, repository, first, '/hasten run again');
      await untilAnswer(stage, repository, first, /works already, so no other one was taken/);
      await say(stage, repository, first, '/hasten status');
      await untilAnswer(stage, repository, first, /is \*\*planning\*\*, attempt 1/);
      await say(stage, repository, second, '/hasten status');
      await untilAnswer(stage, repository, second, /waits at place 1 in the line/);
      await say(stage, repository, third, '/hasten cancel');
      await untilAnswer(stage, repository, third, /Taken out of the line/);

      modelOf(stage).play(nothing);
      await untilRun(stage, repository, 'listening', { times: 2 });
      await untilQuiet(stage);
      for (const issue of [first, second]) {
        await untilAnswer(stage, repository, issue, /found nothing to gain/);
      }
      expect(outcomesOf(stage, repository)).toEqual(['nothing-to-gain', 'nothing-to-gain']);
      await say(stage, repository, third, '/hasten status');
      await untilAnswer(stage, repository, third, /No run works on this issue and none waits/);
    },
    RUN_MS,
  );

  it(
    'stops a run in planning on /hasten cancel of a writer, and of nobody else',
    async () => {
      modelOf(stage).play(lingers());
      const repository = await addRepository(stage, 'cancelled');
      const issue = await openIssue(stage, repository);
      await stage.github.people.addLabel('writer', repository, issue, 'hasten');
      await untilRun(stage, repository, 'planning');
      await say(stage, repository, issue, '/hasten cancel', 'reader');
      await untilQuiet(stage);
      expect(stateOf(stage, repository)).toBe('planning');
      await say(stage, repository, issue, '/hasten cancel');
      const ended = await untilRun(stage, repository, 'listening');
      expect(ended).toMatchObject({ outcome: 'cancelled', reason: 'Cancelled by writer.' });
      await untilAnswer(stage, repository, issue, /Hasten was cancelled/);
      await expectNothingPushed(stage, repository);
      const asked = modelOf(stage).calls().length;
      await new Promise((resolve) => setTimeout(resolve, 1000));
      expect(modelOf(stage).calls()).toHaveLength(asked);
    },
    RUN_MS,
  );
});

describe('a comment', () => {
  it(
    'that quotes a command, shows it as code or is edited into one does nothing',
    async () => {
      const repository = await addRepository(stage, 'quoted');
      const issue = await openIssue(stage, repository);
      await say(stage, repository, issue, '> /hasten run\n\nHe wrote that.');
      await say(stage, repository, issue, '```\n/hasten run\n```');
      await say(stage, repository, issue, 'Write `/hasten run` to start.');
      const edited = await say(stage, repository, issue, 'Not yet.');
      await stage.github.people.editComment('writer', repository, edited, '/hasten run');
      await untilQuiet(stage);
      expect(outcomesOf(stage, repository)).toEqual([]);
      expect(await answers(stage, repository, issue)).toEqual([]);
    },
    RUN_MS,
  );

  it(
    'with an unknown command gets the list of commands, one with several gets told so',
    async () => {
      const repository = await addRepository(stage, 'misspelt');
      const issue = await openIssue(stage, repository);
      await say(stage, repository, issue, '/hasten rum');
      const help = await untilAnswer(stage, repository, issue, /knows these commands/);
      for (const word of ['run', 'approve', 'reject', 'cancel', 'status']) {
        expect(help).toContain(`/hasten ${word}`);
      }
      await say(stage, repository, issue, '/hasten run\n/hasten cancel');
      await untilAnswer(stage, repository, issue, /more than one/);
      expect(outcomesOf(stage, repository)).toEqual([]);
    },
    RUN_MS,
  );
});

it('all of it asks GitHub only for what GitHub describes', () => {
  expect(checkJournal(loadGitHubContract(), stage.github.requests())).toEqual([]);
});
