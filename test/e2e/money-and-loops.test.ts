import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ModelScript, steppedScript } from '../support/scripted-model/case-script.js';
import { smallSubject } from '../support/small-subject.js';
import type { Stage } from '../support/stage.js';
import {
  addRepository,
  callsSince,
  expectNothingPushed,
  modelOf,
  nameOf,
  openIssue,
  rows,
  say,
  stateOf,
  statesOf,
  toldTo,
  untilAnswer,
  untilQuiet,
  untilRun,
} from './stage-views.js';
import { closeStages, openStage, RUN_MS } from './support.js';

/** The operator's limit of one run; a call of planning costs about $0.002 and may cost $0.0045. */
const SERVICE_RUN_USD = 0.02;

const PLAN = {
  title: 'Use a set',
  hypothesis: 'includes() walks the whole list for each value.',
  files: ['index.js'],
  steps: ['Change index.js'],
  measurement: 'The benchmark runs the reported workload.',
  risk: 'The order could change.',
};

let stage: Stage;

beforeAll(async () => {
  stage = await openStage(looks(100), {
    env: {
      HASTEN_LIMIT_RUN_USD: String(SERVICE_RUN_USD),
      HASTEN_MODEL_MAX_OUTPUT_TOKENS: '256',
    },
  });
});
afterAll(closeStages);

/** Looks around so many times before it says that nothing is to be gained. */
function looks(times: number): ModelScript {
  return steppedScript({
    planning: [
      ...Array.from({ length: times }, () => ({ tool: 'list_files', arguments: {} })),
      { tool: 'nothing_to_gain', arguments: { reason: 'The list is short in practice.' } },
    ],
    executing: () => [],
    recovering: () => [],
  });
}

/** Writes into the test file at each attempt, and plans the same again after each refusal. */
function touchesTests(): ModelScript {
  return steppedScript({
    planning: [{ tool: 'finish_plan', arguments: PLAN }],
    executing: () => [
      {
        tool: 'write_file',
        arguments: { path: 'test/unique.test.mjs', content: '// no tests, no trouble\n' },
      },
      { tool: 'finish_patch', arguments: { summary: 'The tests were in the way.' } },
    ],
    recovering: () => [{ tool: 'update_plan', arguments: PLAN }],
  });
}

async function labelled(name: string, settings?: string): Promise<{ repository: string; issue: number }> {
  const repository = await addRepository(
    stage,
    name,
    smallSubject(settings === undefined ? {} : { settings }),
  );
  const issue = await openIssue(stage, repository);
  await stage.github.people.addLabel('writer', repository, issue, 'hasten');
  return { repository, issue };
}

/** Dollars booked to the newest run of a repository, settled or not, and how many calls they are for. */
function booked(repository: string): { readonly usd: number; readonly calls: number } {
  const [row] = rows(
    stage,
    `select coalesce(sum(micro_usd), 0) as micro, count(*) as calls from reservation
     join repository using (repository_id) where json_extract(reference, '$.name') = ?`,
    nameOf(repository),
  );
  return { usd: Number(row?.micro) / 1e6, calls: Number(row?.calls) };
}

describe('money', () => {
  it(
    'makes no call at all when the first one does not fit, and a rejection ends the run',
    async () => {
      modelOf(stage).play(looks(1));
      const before = modelOf(stage).calls().length;
      const { repository, issue } = await labelled('poor', 'budget: 0.001\n');
      await untilRun(stage, repository, 'paused');
      const question = await untilAnswer(stage, repository, issue, /used up its budget/);
      expect(question).toContain('/hasten approve');
      expect(callsSince(stage, before)).toEqual([]);
      expect(booked(repository)).toEqual({ usd: 0, calls: 0 });
      await say(stage, repository, issue, '/hasten reject not worth it');
      const ended = await untilRun(stage, repository, 'listening');
      expect(ended).toMatchObject({ outcome: 'rejected', reason: 'Rejected by writer: not worth it' });
      await untilAnswer(stage, repository, issue, /the question was rejected/);
    },
    RUN_MS,
  );

  it(
    'pauses at the limit of the repository, and goes on after an approval without paying earlier turns again',
    async () => {
      modelOf(stage).play(looks(4));
      const budget = 0.0105;
      const before = modelOf(stage).calls().length;
      const { repository, issue } = await labelled('careful', `budget: ${budget}\n`);
      await untilRun(stage, repository, 'paused');
      await untilAnswer(stage, repository, issue, /used up its budget/);
      const paid = callsSince(stage, before).map((call) => call.position);
      expect(paid.length).toBeGreaterThanOrEqual(2);
      const atPause = booked(repository);
      expect(atPause.calls).toBe(paid.length);
      expect(atPause.usd).toBeGreaterThan(0);
      expect(atPause.usd).toBeLessThanOrEqual(budget);

      await say(stage, repository, issue, '/hasten approve', 'reader');
      await untilQuiet(stage);
      expect(stateOf(stage, repository)).toBe('paused');
      await say(stage, repository, issue, '/hasten approve');
      const ended = await untilRun(stage, repository, 'listening');
      expect(ended).toMatchObject({ outcome: 'nothing-to-gain' });
      const all = callsSince(stage, before);
      expect(all.map((call) => call.position)).toEqual([0, 1, 2, 3, 4]);
      expect(all.every((call) => call.station === 'planning')).toBe(true);
      expect(booked(repository).calls).toBe(5);
      expect(booked(repository).usd).toBeLessThanOrEqual(SERVICE_RUN_USD);
    },
    RUN_MS,
  );

  it(
    "never passes the operator's limit, whatever is approved",
    async () => {
      modelOf(stage).play(looks(100));
      const before = modelOf(stage).calls().length;
      const { repository, issue } = await labelled('greedy');
      await untilRun(stage, repository, 'paused');
      const calls = callsSince(stage, before).length;
      expect(calls).toBeGreaterThanOrEqual(3);
      expect(booked(repository).usd).toBeLessThanOrEqual(SERVICE_RUN_USD);
      await untilAnswer(stage, repository, issue, /used up its budget/);
      await say(stage, repository, issue, '/hasten approve');
      await untilRun(stage, repository, 'paused', { times: 2 });
      expect(callsSince(stage, before)).toHaveLength(calls);
      expect(booked(repository).usd).toBeLessThanOrEqual(SERVICE_RUN_USD);
      await say(stage, repository, issue, '/hasten cancel');
      expect(await untilRun(stage, repository, 'listening')).toMatchObject({ outcome: 'cancelled' });
      await expectNothingPushed(stage, repository);
    },
    RUN_MS,
  );
});

describe('a loop', () => {
  it(
    'pauses when the same plan fails the same way for the third time, and an approval gives one more attempt',
    async () => {
      const rich = await openStage(touchesTests());
      const repository = await addRepository(rich, 'stubborn', smallSubject({ settings: 'attempts: 3\n' }));
      const issue = await openIssue(rich, repository);
      await rich.github.people.addLabel('writer', repository, issue, 'hasten');
      await untilRun(rich, repository, 'paused', { timeoutMs: 120_000 });
      expect(statesOf(rich, repository).filter((state) => state === 'evaluating')).toHaveLength(3);
      const question = await untilAnswer(rich, repository, issue, /round in circles/);
      expect(question).toMatch(/same error 3 times running/);
      expect(question).toContain('test/unique.test.mjs');
      for (const attempt of [1, 2, 3]) expect(question).toContain(`Attempt ${attempt}: policy:`);

      const before = modelOf(rich).calls().length;
      await say(rich, repository, issue, '/hasten approve leave the tests alone');
      await untilRun(rich, repository, 'evaluating', { times: 4, timeoutMs: 120_000 });
      const recovering = callsSince(rich, before).filter((call) => call.station === 'recovering');
      expect(toldTo(recovering[0])).toContain('leave the tests alone');
      const ended = await untilRun(rich, repository, 'listening');
      expect(ended.outcome).toBe('failed');
      expect(ended.reason).toMatch(/All 4 attempts failed\. Last: policy:/);
      await expectNothingPushed(rich, repository);
    },
    RUN_MS,
  );
});
