import { afterEach, describe, expect, it } from 'vitest';
import { checkJournal } from '../support/github-contract/journal-check.js';
import { loadGitHubContract } from '../support/github-contract/openapi-contract.js';
import { breaksTestThenFixes, rejectScript, scriptFromCase } from '../support/scripted-model/case-script.js';
import { caseOf, smallSubject } from '../support/small-subject.js';
import {
  botComments,
  closeStages,
  expectOnePullRequest,
  hastenBranches,
  labelledIssue,
  openStage,
  pullsOf,
  REPOSITORY,
  RUN_MS,
  untilState,
} from './support.js';

afterEach(closeStages);
const subject = smallSubject();

describe('a labelled issue', () => {
  it(
    'becomes a pull request with a measured patch, one status comment and a signed commit',
    async () => {
      const stage = await openStage(scriptFromCase(caseOf(subject)));
      const issue = await labelledIssue(stage);
      const ended = await untilState(stage, 'listening');
      expect(ended).toMatchObject({ outcome: 'pull-request' });
      const pull = await expectOnePullRequest(stage, issue);
      expect(pull).toMatchObject({ draft: false, base: { ref: 'main' } });
      expect(pull.body).toMatch(/At least \d+ % less CPU time/);
      expect(pull.body).toMatch(/faster/);
      expect(pull.body).toContain('A/A control');
      const patched = await stage.github.file(REPOSITORY, 'index.js', pull.head.ref);
      expect(patched).toBe(subject.fixFiles.get('index.js')?.toString());
      const [status] = await botComments(stage, issue);
      expect(status?.body).toContain(`#${pull.number}`);
      expect(stage.github.reactions(REPOSITORY, `issues/${issue}`)).toEqual(['eyes']);
      expect(checkJournal(loadGitHubContract(), stage.github.requests())).toEqual([]);
      const log = JSON.stringify(stage.log());
      expect(log).not.toContain(stage.github.app.webhookSecret);
      expect(log).not.toMatch(/ghs_|BEGIN RSA/);
    },
    RUN_MS,
  );

  it(
    'gets no pull request for a patch that makes nothing faster, and the verdict in its comment',
    async () => {
      const stage = await openStage(rejectScript(caseOf(subject)));
      const issue = await labelledIssue(stage);
      const ended = await untilState(stage, 'listening');
      expect(ended).toMatchObject({ outcome: 'failed' });
      expect(await pullsOf(stage)).toEqual([]);
      expect(await hastenBranches(stage)).toEqual([]);
      const comments = await botComments(stage, issue);
      expect(comments).toHaveLength(1);
      expect(comments[0]?.body).toMatch(/no-change|no change|inconclusive/);
    },
    RUN_MS,
  );

  it(
    'recovers from a patch that breaks a test, and opens the pull request at the second attempt',
    async () => {
      const stage = await openStage(breaksTestThenFixes(caseOf(subject)));
      const issue = await labelledIssue(stage);
      const ended = await untilState(stage, 'listening');
      expect(ended).toMatchObject({ outcome: 'pull-request' });
      await untilState(stage, 'recovering');
      await expectOnePullRequest(stage, issue);
    },
    RUN_MS,
  );

  it(
    'starts one run for a delivery that comes three times',
    async () => {
      const stage = await openStage(scriptFromCase(caseOf(subject)));
      const issue = await labelledIssue(stage);
      await stage.github.whenWebhooksSettled();
      const labelled = stage.github.deliveries().find((delivery) => delivery.action === 'labeled');
      expect(labelled).toBeDefined();
      const statuses = await stage.github.replayDelivery(labelled?.guid ?? '', { times: 2 });
      expect(statuses).toEqual([202, 202]);
      await stage.github.replayDelivery(labelled?.guid ?? '', { changedGuid: true });
      await untilState(stage, 'listening');
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await expectOnePullRequest(stage, issue);
      expect(stage.log().filter((entry) => entry.transition?.from === 'listening')).toHaveLength(1);
    },
    RUN_MS,
  );
});
