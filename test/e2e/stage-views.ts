/** Looks into a stage that several tests share: repositories by name, comments as they come, rows of the database. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect } from 'vitest';
import { z } from 'zod';
import { type ModelScript, steppedScript } from '../support/scripted-model/case-script.js';
import type { ModelCall, ScriptedModel } from '../support/scripted-model/scripted-model.js';
import { type SmallSubject, smallSubject } from '../support/small-subject.js';
import type { LogEntry, Stage } from '../support/stage.js';
import { waitFor } from './support.js';

const OWNER = 'acme';
const PATIENCE_MS = 120_000;

/** One more repository on the stage; gives `owner/name`. */
export async function addRepository(
  stage: Stage,
  name: string,
  subject: Pick<SmallSubject, 'files'> = smallSubject(),
): Promise<string> {
  await stage.github.createRepository({ owner: OWNER, name, files: Object.fromEntries(subject.files) });
  return `${OWNER}/${name}`;
}

export function openIssue(stage: Stage, repository: string, author = 'writer'): Promise<number> {
  return stage.github.people.openIssue(author, repository, {
    title: 'unique() is slow for long lists',
    body: '3000 values take milliseconds; it grows with the square of the length.',
  });
}

/** Says something on an issue or pull request; gives the comment's id. */
export function say(
  stage: Stage,
  repository: string,
  number: number,
  text: string,
  person = 'writer',
): Promise<number> {
  return stage.github.people.comment(person, repository, number, text);
}

/** The model that a stage with a script has. */
export function modelOf(stage: Stage): ScriptedModel {
  if (stage.model === null) throw new Error('This stage has a real model.');
  return stage.model;
}

/** Calls of the model from `since` on (a number of calls). */
export function callsSince(stage: Stage, since: number): readonly ModelCall[] {
  return modelOf(stage).calls().slice(since);
}

/** Everything that a request told the model. */
export function toldTo(call: ModelCall | undefined): string {
  return JSON.stringify(call?.body.messages ?? []);
}

/** Keeps a run in planning until another script is played: it lists the files again and again. */
export function lingers(): ModelScript {
  return steppedScript({
    planning: [{ tool: 'list_files', arguments: {} }],
    executing: () => [{ tool: 'list_files', arguments: {} }],
    recovering: () => [{ tool: 'list_files', arguments: {} }],
  });
}

function transitionsOf(stage: Stage, repository: string): readonly LogEntry[] {
  return stage
    .log()
    .filter(
      ({ transition, repository: named }) =>
        named === repository && transition !== undefined && transition.from !== transition.to,
    );
}

/** States that a repository's machine came to, in order. */
export function statesOf(stage: Stage, repository: string): readonly string[] {
  return transitionsOf(stage, repository).map((entry) => entry.transition?.to ?? '');
}

/** Waits until a repository's machine has come to a state so many times; gives the log entry of that moment. */
export async function untilRun(
  stage: Stage,
  repository: string,
  state: string,
  options: { readonly times?: number; readonly timeoutMs?: number } = {},
): Promise<LogEntry> {
  const { times = 1, timeoutMs = PATIENCE_MS } = options;
  const found = () => transitionsOf(stage, repository).filter((entry) => entry.transition?.to === state);
  await waitFor(
    stage,
    () => found().length >= times,
    timeoutMs,
    `${repository} to be ${state}, ${times} times`,
  );
  const entry = found()[times - 1];
  if (entry === undefined) throw new Error('unreachable');
  return entry;
}

const commentShape = z.looseObject({
  id: z.number(),
  body: z.string(),
  user: z.looseObject({ login: z.string() }),
});

/** Texts of the App's comments on an issue or pull request, oldest first. */
export async function answers(stage: Stage, repository: string, number: number): Promise<readonly string[]> {
  const comments = z.array(commentShape).parse(await stage.github.comments(repository, number));
  return comments.filter(({ user }) => user.login.endsWith('[bot]')).map(({ body }) => body);
}

/** Waits for a comment of the App that matches; gives its text. */
export async function untilAnswer(
  stage: Stage,
  repository: string,
  number: number,
  pattern: RegExp,
  timeoutMs = PATIENCE_MS,
): Promise<string> {
  let found: string | undefined;
  await waitFor(
    stage,
    async () => {
      found = (await answers(stage, repository, number)).find((text) => pattern.test(text));
      return found !== undefined;
    },
    timeoutMs,
    `an answer like ${pattern} on ${repository}#${number}`,
  );
  return found ?? '';
}

/** Waits until every webhook has been answered, read and carried out, so that nothing more can follow from it. */
export async function untilQuiet(stage: Stage): Promise<void> {
  await stage.github.whenWebhooksSettled();
  await waitFor(
    stage,
    () =>
      rows(stage, "select delivery_id from delivery where status = 'new'").length === 0 &&
      rows(
        stage,
        "select idem from effect where lane = 'tell' and status in ('pending', 'inflight') and run_id is null",
      ).length === 0,
    PATIENCE_MS,
    'the deliveries to be read and answered',
  );
}

/** Rows of the service's database, read beside it. */
export function rows(
  stage: Stage,
  sql: string,
  ...parameters: readonly (string | number)[]
): readonly Readonly<Record<string, unknown>>[] {
  const database = new Database(join(stage.dataDir, 'hasten.db'), { readonly: true });
  try {
    return z.array(z.record(z.string(), z.unknown())).parse(database.prepare(sql).all(...parameters));
  } finally {
    database.close();
  }
}

/** Outcomes of a repository's runs, oldest first; null for one that goes on. From the database: the log comes later. */
export function outcomesOf(stage: Stage, repository: string): readonly unknown[] {
  return rows(
    stage,
    `select outcome from run join repository using (repository_id)
     where json_extract(reference, '$.name') = ? order by created_at`,
    nameOf(repository),
  ).map(({ outcome }) => outcome);
}

/** The state of a repository's machine in the database; undefined before its first event. */
export function stateOf(stage: Stage, repository: string): unknown {
  const sql = "select state from repository where json_extract(reference, '$.name') = ?";
  return rows(stage, sql, nameOf(repository))[0]?.state;
}

export function nameOf(repository: string): string {
  return repository.split('/')[1] ?? '';
}

const pullShape = z.looseObject({
  number: z.number(),
  title: z.string(),
  body: z.string(),
  draft: z.boolean(),
  state: z.string(),
});

export async function pullsIn(stage: Stage, repository: string) {
  return z.array(pullShape).parse(await stage.github.pulls(repository));
}

/** Nothing was pushed: no branch of Hasten's and no pull request. */
export async function expectNothingPushed(stage: Stage, repository: string): Promise<void> {
  const branches = [...(await stage.github.branches(repository)).keys()];
  expect(branches.filter((name) => name.startsWith('hasten/'))).toEqual([]);
  expect(await pullsIn(stage, repository)).toEqual([]);
}
