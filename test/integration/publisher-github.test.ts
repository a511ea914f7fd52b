import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BugError, PeerError, UserError } from '../../src/domain/errors.js';
import type { RunRecord } from '../../src/domain/run.js';
import { type EmulatedGitHub, startEmulatedGitHub } from '../support/emulated-github/emulated-github.js';
import { asObject, textAt } from '../support/emulated-github/json.js';
import { loadGitHubContract } from '../support/github-contract/openapi-contract.js';
import { type PublisherWorld, publisherWorld } from '../support/publisher-world.js';

let github: EmulatedGitHub;
let folder: string;

beforeAll(async () => {
  github = await startEmulatedGitHub();
  folder = mkdtempSync(join(tmpdir(), 'hasten-publisher-'));
});

afterEach(() => github.clearFaults());

afterAll(async () => {
  await github.close();
  rmSync(folder, { recursive: true, force: true });
});

function world(options?: Parameters<typeof publisherWorld>[2]): Promise<PublisherWorld> {
  return publisherWorld(github, folder, options);
}

function submitting(run: RunRecord) {
  return { run, state: 'submitting' as const };
}

function posts(path: string | RegExp): number {
  return github.requests({ method: 'POST', path }).filter((entry) => entry.status === 201).length;
}

async function bodies(place: PublisherWorld, number = place.issue): Promise<string[]> {
  return (await github.comments(place.fullName, number)).map((comment) => textAt(comment, 'body'));
}

describe('telling a run', () => {
  it('puts eyes and one status comment on the issue, however often it is tried', async () => {
    const place = await world();
    const payload = { run: place.run, state: 'planning' as const };
    expect(await place.perform('acknowledge', payload)).toEqual({
      type: 'ACKNOWLEDGED',
      issueNumber: place.issue,
    });
    await place.perform('acknowledge', payload);
    expect(github.reactions(place.fullName, `issues/${place.issue}`)).toEqual(['eyes']);
    expect(posts(`/repos/${place.fullName}/issues/${place.issue}/comments`)).toBe(1);
    const [comment, ...others] = await bodies(place);
    expect(others).toEqual([]);
    expect(comment).toContain('**planning**');
    expect(comment).toMatch(new RegExp(`<!-- hasten:${place.run.id}:status -->$`));
  });

  it('does not take a comment of somebody else for its own, whatever it ends with', async () => {
    const place = await world();
    const theirs = `mine\n\n<!-- hasten:${place.run.id}:status -->`;
    await github.people.comment('reader', place.fullName, place.issue, theirs);
    await place.perform('acknowledge', { run: place.run, state: 'planning' });
    await place.perform('update-status', { run: place.run, state: 'executing' });
    const all = await bodies(place);
    expect(all).toHaveLength(2);
    expect(all[0]).toBe(theirs);
    expect(all[1]).toContain('**executing**');
  });

  it('leaves one comment when two processes write at the same moment', async () => {
    const place = await world();
    const payload = { run: place.run, state: 'planning' as const };
    await Promise.all([1, 2, 3].map(() => place.perform('acknowledge', payload)));
    expect(await bodies(place)).toHaveLength(1);
  });

  it.each(['drop-before-effect', 'drop-after-effect'] as const)(
    'leaves one comment when the answer to writing it is lost: %s',
    async (kind) => {
      const place = await world();
      const path = `/repos/${place.fullName}/issues/${place.issue}/comments`;
      github.injectFault({ method: 'POST', path, effect: { kind } });
      const payload = { run: place.run, state: 'planning' as const };
      await expect(place.perform('acknowledge', payload)).rejects.toMatchObject({
        code: 'GITHUB_UNAVAILABLE',
      });
      github.clearRequests();
      await place.perform('acknowledge', payload);
      expect(posts(path)).toBe(kind === 'drop-after-effect' ? 0 : 1);
      expect(await bodies(place)).toHaveLength(1);
    },
  );

  it('edits the status comment in place until the report', async () => {
    const place = await world();
    await place.perform('acknowledge', { run: place.run, state: 'planning' });
    const [first] = await github.comments(place.fullName, place.issue);
    expect(await place.perform('update-status', { run: place.run, state: 'evaluating' })).toBeNull();
    const done: RunRecord = {
      ...place.run,
      outcome: 'nothing-to-gain',
      outcomeReason: 'The profile is flat.',
    };
    expect(await place.perform('report', { run: done, state: 'reporting' })).toEqual({ type: 'REPORTED' });
    const [last, ...others] = await github.comments(place.fullName, place.issue);
    expect(others).toEqual([]);
    expect(last?.id).toBe(first?.id);
    expect(last?.body).toContain('found nothing to gain');
    expect(last?.body).toContain('The profile is flat.');
  });

  it('asks for approval in a comment of its own, once', async () => {
    const place = await world();
    const run: RunRecord = {
      ...place.run,
      pause: {
        reason: 'approval',
        from: 'submitting',
        since: 0,
        expiresAt: Date.now(),
        detail: 'Outside text.',
        rev: 4,
      },
    };
    await place.perform('ask-approval', { run, state: 'paused' });
    await place.perform('ask-approval', { run, state: 'paused' });
    const [question, ...others] = await bodies(place);
    expect(others).toEqual([]);
    expect(question).toContain('```diff');
    expect(question).toContain('/hasten approve');
    expect(question).toContain('let s = 0');
  });

  it('replies once and reacts to the comment that asked', async () => {
    const place = await world();
    const asked = await github.people.comment('writer', place.fullName, place.issue, '/hasten status');
    const payload = {
      issueNumber: place.issue,
      text: 'It waits, says @octocat.',
      reaction: { commentId: asked, content: '+1' as const },
    };
    await place.perform('reply', payload);
    await place.perform('reply', payload);
    expect(github.reactions(place.fullName, `issues/comments/${asked}`)).toEqual(['+1']);
    const all = await bodies(place);
    expect(all).toHaveLength(2);
    expect(all[1]).toContain('It waits, says @\u200Boctocat.');
  });

  it('can only react, and shrugs when the comment is gone', async () => {
    const place = await world();
    const asked = await github.people.comment('writer', place.fullName, place.issue, '/hasten cancel');
    await github.people.deleteComment('writer', place.fullName, asked);
    const reaction = { commentId: asked, content: 'eyes' as const };
    await expect(
      place.perform('reply', { issueNumber: place.issue, text: null, reaction }),
    ).resolves.toBeNull();
    expect(await bodies(place)).toEqual([]);
  });
});

describe('an alert', () => {
  function alerted(run: RunRecord, id = run.id): RunRecord {
    const trigger = {
      ...run.trigger,
      issueNumber: null,
      source: 'alert' as const,
      title: 'HighLatency @acme/all',
      body: 'p95 2s\nFixes #1',
      actor: 'alert:main',
      collapseKey: 'alert:4e3bb4c3',
    };
    return { ...run, id, issueNumber: null, trigger };
  }

  it('gets a tracking issue, once, without a label', async () => {
    const place = await world();
    const run = alerted(place.run);
    const first = await place.perform('acknowledge', { run, state: 'planning' });
    const again = await place.perform('acknowledge', { run, state: 'planning' });
    expect(again).toEqual(first);
    const issues = (await github.issues(place.fullName)).filter((issue) => issue.number !== place.issue);
    expect(issues).toHaveLength(1);
    expect(issues[0]?.title).toBe('HighLatency @\u200Bacme/all');
    expect(issues[0]?.labels).toEqual([]);
    expect(first).toEqual({ type: 'ACKNOWLEDGED', issueNumber: issues[0]?.number });
    expect(await bodies(place, Number(issues[0]?.number))).toHaveLength(1);
  });

  it('that comes again uses the open issue, and a new one after a person closed it', async () => {
    const place = await world();
    await place.perform('acknowledge', { run: alerted(place.run), state: 'planning' });
    const later = { ...alerted(place.run, 'otherrun0001'), startedAt: Date.now() + 3_600_000 };
    const second = await place.perform('acknowledge', { run: later, state: 'planning' });
    const [tracking] = (await github.issues(place.fullName)).filter((issue) => issue.number !== place.issue);
    expect(second).toMatchObject({ issueNumber: tracking?.number });
    expect(await bodies(place, Number(tracking?.number))).toHaveLength(2);
    await github.people.closeIssue('writer', place.fullName, Number(tracking?.number));
    const third = await place.perform('acknowledge', {
      run: { ...later, id: 'thirdrun0001' },
      state: 'planning',
    });
    expect(third).not.toMatchObject({ issueNumber: tracking?.number });
  });

  it('gets one issue when the answer to opening it is lost', async () => {
    const place = await world();
    github.injectFault({
      method: 'POST',
      path: `/repos/${place.fullName}/issues`,
      effect: { kind: 'drop-after-effect' },
    });
    const run = alerted(place.run);
    await expect(place.perform('acknowledge', { run, state: 'planning' })).rejects.toBeInstanceOf(PeerError);
    await place.perform('acknowledge', { run, state: 'planning' });
    expect(await github.issues(place.fullName)).toHaveLength(2);
  });
});

describe('submitting', () => {
  async function outside(place: PublisherWorld) {
    const branches = await github.branches(place.fullName);
    const commit = branches.get(`hasten/${place.run.id}`) ?? '';
    return {
      branches: [...branches.keys()].sort(),
      commit,
      pulls: await github.pulls(place.fullName),
      checks: commit === '' ? [] : await github.checkRuns(place.fullName, commit),
    };
  }

  it('pushes exactly the evaluated tree, opens the pull request and leaves a check run', async () => {
    const place = await world();
    const event = await place.perform('submit', submitting(place.run));
    const { branches, commit, pulls, checks } = await outside(place);
    expect(branches).toEqual([`hasten/${place.run.id}`, 'main']);
    expect(event).toEqual({
      type: 'PULL_REQUEST_OPENED',
      submission: {
        branch: `hasten/${place.run.id}`,
        commit,
        pullNumber: pulls[0]?.number,
        url: pulls[0]?.html_url,
        draft: false,
      },
    });
    const made = asObject(await github.read(`/repos/${place.fullName}/git/commits/${commit}`));
    expect(textAt(made, 'tree', 'sha')).toBe(place.run.patch?.tree);
    expect(textAt(made, 'message')).toMatch(new RegExp(`\nHasten-Run: ${place.run.id}\n?$`));
    const [request] = github
      .requests({ method: 'POST', path: `/repos/${place.fullName}/git/commits` })
      .filter((entry) => entry.caller === 'installation');
    expect(Object.keys(asObject(request?.requestBody)).sort()).toEqual(['message', 'parents', 'tree']);
    expect(pulls).toHaveLength(1);
    expect(pulls[0]?.title).toBe('Compare numbers as numbers (at least 60 % less CPU time)');
    expect(pulls[0]?.body).toContain(`For #${place.issue}.`);
    expect(checks).toHaveLength(1);
    expect(checks[0]).toMatchObject({
      name: 'hasten',
      conclusion: 'success',
      external_id: `${place.run.id}:7:0:submit`,
    });
    expect(await github.file(place.fullName, 'tools/run.sh', commit)).toBe('#!/bin/sh\necho ok\n');
    const diff = await github.diff(place.fullName, 'main', `hasten/${place.run.id}`);
    expect(diff).toContain('new file mode 100755');
    expect(diff).toContain('deleted file mode 100644');
  });

  it('does nothing more when it is tried again', async () => {
    const place = await world();
    const first = await place.perform('submit', submitting(place.run));
    const before = posts(new RegExp(`^/repos/${place.fullName}/`));
    expect(await place.perform('submit', submitting(place.run))).toEqual(first);
    expect(posts(new RegExp(`^/repos/${place.fullName}/`))).toBe(before);
  });

  it.each(
    ['git/blobs', 'git/trees', 'git/commits', 'git/refs', 'pulls', 'check-runs'].flatMap((path) =>
      (['drop-before-effect', 'drop-after-effect'] as const).map((kind) => [path, kind] as const),
    ),
  )('ends with one of each when the answer to POST %s is lost: %s', async (path, kind) => {
    const place = await world();
    const fault = github.injectFault({
      method: 'POST',
      path: `/repos/${place.fullName}/${path}`,
      effect: { kind },
    });
    await expect(place.perform('submit', submitting(place.run))).rejects.toBeInstanceOf(PeerError);
    expect(fault.hits()).toBe(1);
    await place.perform('submit', submitting(place.run));
    const { branches, pulls, checks } = await outside(place);
    expect(branches).toEqual([`hasten/${place.run.id}`, 'main']);
    expect(pulls).toHaveLength(1);
    expect(checks).toHaveLength(1);
  });

  it('ends with one branch and one pull request when two processes submit at the same moment', async () => {
    const place = await world();
    const results = await Promise.allSettled(
      [1, 2].map(() => place.perform('submit', submitting(place.run))),
    );
    expect(results.some((result) => result.status === 'fulfilled')).toBe(true);
    const { branches, pulls } = await outside(place);
    expect(branches).toEqual([`hasten/${place.run.id}`, 'main']);
    expect(pulls).toHaveLength(1);
  });

  it('works when the default branch has moved on', async () => {
    const place = await world();
    await github.people.commitFile('owner', place.fullName, {
      branch: 'main',
      path: 'README.md',
      content: 'new',
      message: 'Move',
    });
    const event = await place.perform('submit', submitting(place.run));
    expect(event).toMatchObject({ type: 'PULL_REQUEST_OPENED' });
  });

  it('asks GitHub nothing when the evaluation is not of this patch', async () => {
    const place = await world();
    const { evaluation } = place.run;
    if (evaluation === null) throw new Error('sample');
    const run = { ...place.run, evaluation: { ...evaluation, tree: '1'.repeat(40) } };
    github.clearRequests();
    await expect(place.perform('submit', submitting(run))).rejects.toBeInstanceOf(BugError);
    expect(github.count()).toBe(0);
  });

  it('refuses a diff that makes another tree than the evaluated one', async () => {
    const place = await world();
    const { evaluation, patch } = place.run;
    if (evaluation === null || patch === null) throw new Error('sample');
    const tree = '2'.repeat(40);
    const run = { ...place.run, patch: { ...patch, tree }, evaluation: { ...evaluation, tree } };
    await expect(place.perform('submit', submitting(run))).rejects.toMatchObject({ code: 'TREE_MISMATCH' });
    expect((await outside(place)).branches).toEqual(['main']);
  });

  it('leaves a branch alone that a person made or pushed to', async () => {
    const place = await world();
    await github.people.createBranch('owner', place.fullName, `hasten/${place.run.id}`, place.baseCommit);
    await expect(place.perform('submit', submitting(place.run))).rejects.toMatchObject({
      code: 'BRANCH_CHANGED',
    });
    const { commit, pulls } = await outside(place);
    expect(commit).toBe(place.baseCommit);
    expect(pulls).toEqual([]);
  });

  it('goes on after a person pushed to the branch, or merged and removed it', async () => {
    const place = await world();
    const first = await place.perform('submit', submitting(place.run));
    const branch = `hasten/${place.run.id}`;
    await github.people.commitFile('owner', place.fullName, {
      branch,
      path: 'more.js',
      content: 'x',
      message: 'More',
    });
    expect(await place.perform('submit', submitting(place.run))).toEqual(first);
    const [pull] = await github.pulls(place.fullName);
    await github.people.mergePull('owner', place.fullName, Number(pull?.number));
    await github.people.deleteBranch('owner', place.fullName, branch);
    expect(await place.perform('submit', submitting(place.run))).toEqual(first);
    expect([...(await github.branches(place.fullName)).keys()]).toEqual(['main']);
  });

  it('does not offer again what a person closed', async () => {
    const place = await world();
    await place.perform('submit', submitting(place.run));
    const [pull] = await github.pulls(place.fullName);
    await github.people.closePull('writer', place.fullName, Number(pull?.number));
    const again = place.perform('submit', submitting(place.run));
    await expect(again).rejects.toBeInstanceOf(UserError);
    await expect(again).rejects.toMatchObject({ code: 'PULL_REQUEST_CLOSED' });
    expect(await github.pulls(place.fullName)).toHaveLength(1);
  });

  it('keeps the pace: so many an hour, so many open, and says when to try again', async () => {
    const place = await world({ pace: { pullsPerHour: 1, pullsOpen: 10 } });
    await place.perform('submit', submitting(place.run));
    const next = { ...place.run, id: 'nextrun00001' };
    const error: unknown = await place.perform('submit', submitting(next)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'PACE_REACHED', retryable: true });
    if (!(error instanceof PeerError)) throw new Error('expected a PeerError');
    expect(error.retryAfterMs).toBeGreaterThan(3_500_000);
    expect(error.retryAfterMs).toBeLessThanOrEqual(3_600_000);
    expect((await outside(place)).branches).toHaveLength(2);
    await expect(place.perform('submit', submitting(place.run))).resolves.not.toBeNull();

    const crowded = await world({ pace: { pullsPerHour: 9, pullsOpen: 1 } });
    await crowded.perform('submit', submitting(crowded.run));
    await expect(
      crowded.perform('submit', submitting({ ...crowded.run, id: 'nextrun00002' })),
    ).rejects.toMatchObject({
      code: 'PACE_REACHED',
    });
  });
});

describe('drafts', () => {
  it('say why, and become ready by approval, once', async () => {
    const place = await world();
    const { settings } = place.run;
    if (settings === null) throw new Error('sample');
    const run: RunRecord = { ...place.run, settings: { ...settings, approval: 'draft' } };
    const event = await place.perform('submit', submitting(run));
    expect(event).toMatchObject({ submission: { draft: true } });
    const [draft] = await github.pulls(place.fullName);
    expect(draft).toMatchObject({ draft: true });
    expect(draft?.body).toContain('The settings ask for drafts.');
    const payload = { pullNumber: Number(draft?.number), approvedBy: 'writer' };
    await place.perform('make-ready', payload);
    await place.perform('make-ready', payload);
    const [ready] = await github.pulls(place.fullName);
    expect(ready).toMatchObject({ draft: false, state: 'open' });
    const comments = await bodies(place, Number(draft?.number));
    expect(comments).toHaveLength(1);
    expect(comments[0]).toContain('writer approved this draft');
  });

  it('of somebody else are left alone', async () => {
    const place = await world();
    await github.people.createBranch('owner', place.fullName, 'hasten/theirs', place.baseCommit);
    await github.people.commitFile('owner', place.fullName, {
      branch: 'hasten/theirs',
      path: 'x.js',
      content: 'x',
      message: 'x',
    });
    const number = await github.people.openPull('owner', place.fullName, {
      head: 'hasten/theirs',
      base: 'main',
      title: 'Mine',
      draft: true,
    });
    await place.perform('make-ready', { pullNumber: number, approvedBy: 'writer' });
    expect((await github.pulls(place.fullName))[0]).toMatchObject({ draft: true });
    expect(await bodies(place, number)).toEqual([]);
  });
});

describe('when GitHub refuses', () => {
  it.each([
    [503, {}, 'GITHUB_UNAVAILABLE', null],
    [429, { 'retry-after': '3' }, 'GITHUB_RATE_LIMITED', 3000],
    [403, { 'retry-after': '5' }, 'GITHUB_RATE_LIMITED', 5000],
  ] as const)('%i %j is tried again later', async (status, headers, code, retryAfterMs) => {
    const place = await world();
    const path = `/repos/${place.fullName}/issues/${place.issue}/comments`;
    github.injectFault({ path, effect: { kind: 'answer', status, headers } });
    await expect(place.perform('update-status', { run: place.run, state: 'planning' })).rejects.toMatchObject(
      {
        code,
        retryAfterMs,
        retryable: true,
      },
    );
  });

  it('names the permission that is missing', async () => {
    const place = await world();
    const path = `/repos/${place.fullName}/git/blobs`;
    github.injectFault({
      path,
      effect: { kind: 'answer', status: 403, message: 'Resource not accessible by integration' },
    });
    await expect(place.perform('submit', submitting(place.run))).rejects.toMatchObject({
      code: 'GITHUB_FORBIDDEN',
      message: expect.stringContaining('"contents: write"'),
    });
  });
});

it('sends only requests that GitHub describes, with tokens for no more than each job needs', () => {
  const contract = loadGitHubContract();
  const own = github.requests({ caller: 'installation', path: /^\/repos\// });
  expect(own.length).toBeGreaterThan(0);
  const problems = own
    .filter((entry) => entry.status !== undefined)
    .flatMap((entry) =>
      contract
        .check({
          method: entry.method,
          path: entry.path,
          requestBody: entry.requestBody,
          status: entry.status ?? 0,
        })
        .filter((problem) => problem.side === 'request'),
    );
  expect(problems).toEqual([]);
  const commenting = own.filter(
    (entry) => entry.method === 'POST' && /\/issues\/\d+\/comments$/.test(entry.path),
  );
  expect(commenting.every((entry) => entry.permissions?.contents === undefined)).toBe(true);
});
