/** What the end-to-end tests share: a stage with the small library, and looks at what GitHub shows afterwards. */
import { expect } from 'vitest';
import { z } from 'zod';
import type { ModelScript } from '../support/scripted-model/case-script.js';
import { type SmallSubject, smallSubject } from '../support/small-subject.js';
import { type Stage, type StageOptions, startStage } from '../support/stage.js';

export const REPOSITORY = 'acme/unique-values';
/** One run takes about half a minute on two idle cores. */
export const RUN_MS = 600_000;
/** A single wait gives up before the test does, so that the failure says what was waited for. */
export const WAIT_MS = 180_000;

const open: Stage[] = [];

/** Call in `afterEach`. */
export async function closeStages(): Promise<void> {
  for (const stage of open.splice(0)) await stage.close();
}

export async function openStage(
  script: ModelScript,
  options: Partial<StageOptions> & { readonly subject?: SmallSubject } = {},
): Promise<Stage> {
  const { files } = options.subject ?? smallSubject();
  const stage = await startStage({ ...options, script, repositories: new Map([[REPOSITORY, files]]) });
  open.push(stage);
  return stage;
}

/** Opens an issue as `author` and labels it as `labeller`; gives its number. */
export async function labelledIssue(stage: Stage, author = 'writer', labeller = 'writer'): Promise<number> {
  const { people } = stage.github;
  const issue = await people.openIssue(author, REPOSITORY, {
    title: 'unique() is slow for long lists',
    body: '3000 values take milliseconds; it grows with the square of the length.',
  });
  await people.addLabel(labeller, REPOSITORY, issue, 'hasten');
  return issue;
}

/** Waits until the machine has come to a state so many times; gives the entry of the last one. */
export async function untilState(stage: Stage, state: string, times = 1, timeoutMs = WAIT_MS) {
  let found: ReturnType<Stage['log']> = [];
  await waitFor(
    stage,
    () => {
      found = stage
        .log()
        .filter((entry) => entry.transition?.to === state && entry.transition.from !== state);
      return found.length >= times;
    },
    timeoutMs,
    `the state ${state}, ${times} times`,
  );
  const entry = found.at(-1);
  if (entry === undefined) throw new Error('unreachable');
  return entry;
}

export async function waitFor(
  stage: Stage,
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  what: string,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) {
      const tail = stage
        .log()
        .slice(-25)
        .map((entry) => entry.msg);
      throw new Error(`Waited ${timeoutMs / 1000} s for ${what}.\n${tail.join('\n')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const pullShape = z.looseObject({
  number: z.number(),
  title: z.string(),
  body: z.string(),
  draft: z.boolean(),
  state: z.string(),
  head: z.looseObject({ ref: z.string(), sha: z.string() }),
  base: z.looseObject({ ref: z.string() }),
});
const commentShape = z.looseObject({
  id: z.number(),
  body: z.string(),
  user: z.looseObject({ login: z.string() }),
});

export async function pullsOf(stage: Stage) {
  return z.array(pullShape).parse(await stage.github.pulls(REPOSITORY));
}

/** Comments of the App on an issue or pull request. */
export async function botComments(stage: Stage, number: number) {
  const comments = z.array(commentShape).parse(await stage.github.comments(REPOSITORY, number));
  return comments.filter((comment) => comment.user.login.endsWith('[bot]'));
}

export async function hastenBranches(stage: Stage): Promise<readonly string[]> {
  return [...(await stage.github.branches(REPOSITORY)).keys()].filter((name) => name.startsWith('hasten/'));
}

/** Exactly one branch, one pull request, one status comment, and nothing of the service's secrets in its log. */
export async function expectOnePullRequest(stage: Stage, issue: number) {
  const pulls = await pullsOf(stage);
  expect(pulls).toHaveLength(1);
  expect(await hastenBranches(stage)).toHaveLength(1);
  expect(await botComments(stage, issue)).toHaveLength(1);
  const [pull] = pulls;
  if (pull === undefined) throw new Error('unreachable');
  expect(await stage.github.checkRuns(REPOSITORY, pull.head.sha)).toHaveLength(1);
  return pull;
}
