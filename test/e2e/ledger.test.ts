import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findsNothing, scriptFromCase } from '../support/scripted-model/case-script.js';
import { caseOf, smallSubject } from '../support/small-subject.js';
import type { Stage } from '../support/stage.js';
import {
  addRepository,
  callsSince,
  modelOf,
  openIssue,
  pullsIn,
  rows,
  toldTo,
  untilQuiet,
  untilRun,
} from './stage-views.js';
import { closeStages, openStage, RUN_MS, waitFor } from './support.js';

const subject = smallSubject();
const nothing = findsNothing('Somebody did it already.');
let stage: Stage;

beforeAll(async () => {
  stage = await openStage(scriptFromCase(caseOf(subject)));
}, 120_000);
afterAll(closeStages);

async function ask(repository: string): Promise<void> {
  const issue = await openIssue(stage, repository);
  await stage.github.people.addLabel('writer', repository, issue, 'hasten');
}

describe('the ledger', () => {
  it(
    'keeps what became of a pull request, and shows the lesson to the next run on the same repository only',
    async () => {
      const repository = await addRepository(stage, 'taught', subject);
      await ask(repository);
      const first = await untilRun(stage, repository, 'listening', { timeoutMs: RUN_MS });
      expect(first).toMatchObject({ outcome: 'pull-request' });
      const lesson = () => rows(stage, 'select outcome, fate from lesson where run_id = ?', first.run ?? '');
      await waitFor(stage, () => lesson().length === 1, 30_000, 'the lesson');
      expect(lesson()).toEqual([{ outcome: 'pull-request', fate: 'open' }]);

      const [pull] = await pullsIn(stage, repository);
      await stage.github.people.mergePull('writer', repository, pull?.number ?? 0);
      await waitFor(stage, () => lesson()[0]?.fate === 'merged', 30_000, 'the lesson to know of the merge');
      await untilQuiet(stage);

      modelOf(stage).play(nothing);
      const before = modelOf(stage).calls().length;
      await ask(repository);
      await untilRun(stage, repository, 'listening', { times: 2 });
      const prompt = toldTo(callsSince(stage, before)[0]);
      expect(prompt).toContain('Lessons of earlier runs on this repository');
      expect(prompt).toContain('outcome: pull-request; pull request: merged');
      expect(prompt).toContain('Take the short way where the input allows it');

      const other = await addRepository(stage, 'untaught', subject);
      const later = modelOf(stage).calls().length;
      await ask(other);
      await untilRun(stage, other, 'listening');
      expect(toldTo(callsSince(stage, later)[0])).not.toContain('Lessons of earlier runs');
    },
    RUN_MS,
  );
});
