import { afterEach, describe, expect, it } from 'vitest';
import { checkJournal } from '../support/github-contract/journal-check.js';
import { loadGitHubContract } from '../support/github-contract/openapi-contract.js';
import { scriptFromCase } from '../support/scripted-model/case-script.js';
import { caseOf, smallSubject } from '../support/small-subject.js';
import type { Stage } from '../support/stage.js';
import {
  botComments,
  closeStages,
  expectOnePullRequest,
  labelledIssue,
  openStage,
  REPOSITORY,
  RUN_MS,
  untilState,
  WAIT_MS,
  waitFor,
} from './support.js';
import { expectTidyEnd, expectTurnsPaidOnce, expectWritesOnce, sandboxLeftovers } from './traces.js';

afterEach(closeStages);
const subject = smallSubject();

/** Kills the service as soon as the condition holds, and starts it again. */
async function killWhen(stage: Stage, what: string, condition: () => boolean | Promise<boolean>) {
  await waitFor(stage, condition, WAIT_MS, what);
  await stage.service().kill('SIGKILL');
  await stage.restart();
}

/** A request of the service is under way: it takes effect, but its answer comes too late for the process. */
function slowRequest(stage: Stage, method: string, path: RegExp | string) {
  return stage.github.injectFault({ method, path, effect: { kind: 'delay', milliseconds: 400 } });
}

const calls = (stage: Stage, station: string): number =>
  stage.model?.calls().filter((call) => call.station === station).length ?? 0;

describe('a service that is killed', () => {
  it(
    'with a delivery stored but not read, in a model turn, and while it measures, goes on each time and ends in one pull request',
    async () => {
      const stage = await openStage(scriptFromCase(caseOf(subject)), { modelDelayMs: 600 });
      const reading = stage.github.injectFault({
        method: 'GET',
        path: /^\/repos\/acme\/unique-values(\/issues\/\d+|\/collaborators\/.*)?$/,
        effect: { kind: 'hang' },
      });
      const issue = await labelledIssue(stage);
      await stage.github.whenWebhooksSettled();
      await killWhen(stage, 'a delivery that is being read', () => reading.hits() > 0);
      reading.remove();

      await killWhen(stage, 'a model turn of executing', () => calls(stage, 'executing') >= 2);

      await untilState(stage, 'evaluating');
      await killWhen(stage, 'arms that measure', async () => {
        const names = await sandboxLeftovers(stage.dataDir);
        return names.some((name) => /-arm-\d+$/.test(name));
      });

      const ended = await untilState(stage, 'listening');
      expect(ended).toMatchObject({ outcome: 'pull-request' });
      await expectOnePullRequest(stage, issue);
      expectWritesOnce(stage, REPOSITORY);
      await expectTurnsPaidOnce(stage, 1);
      expect(calls(stage, 'planning')).toBe(3);
      expect(stage.log().filter((entry) => entry.transition?.from === 'listening')).toHaveLength(1);
      await expectTidyEnd(stage);
      expect(checkJournal(loadGitHubContract(), stage.github.requests())).toEqual([]);
    },
    RUN_MS,
  );

  it(
    'with any of its writes to GitHub under way repeats none of them',
    async () => {
      const stage = await openStage(scriptFromCase(caseOf(subject)));
      const repository = `/repos/${REPOSITORY}`;
      const comment = slowRequest(stage, 'POST', /\/issues\/\d+\/comments$/);
      const issue = await labelledIssue(stage);
      await killWhen(stage, 'the status comment under way', () => comment.hits() === 1);

      const writes = ['git/commits', 'git/refs', 'pulls', 'check-runs'].map((path) => ({
        path,
        fault: slowRequest(stage, 'POST', `${repository}/${path}`),
      }));
      for (const { path, fault } of writes) {
        await killWhen(stage, `POST ${path} under way`, () => fault.hits() === 1);
      }
      const report = slowRequest(stage, 'PATCH', /\/issues\/comments\/\d+$/);
      await waitFor(
        stage,
        () => report.hits() === 1 || stage.log().some((entry) => entry.transition?.to === 'listening'),
        WAIT_MS,
        'the report under way',
      );
      if (report.hits() === 1) await killWhen(stage, 'the report under way', () => true);

      const ended = await untilState(stage, 'listening');
      expect(ended).toMatchObject({ outcome: 'pull-request' });
      const pull = await expectOnePullRequest(stage, issue);
      const [status] = await botComments(stage, issue);
      expect(status?.body).toContain(`#${pull.number}`);
      expect(await stage.github.reactions(REPOSITORY, `issues/${issue}`)).toHaveLength(1);
      expectWritesOnce(stage, REPOSITORY);
      await expectTurnsPaidOnce(stage, 0);
      await expectTidyEnd(stage);
    },
    RUN_MS,
  );
});
