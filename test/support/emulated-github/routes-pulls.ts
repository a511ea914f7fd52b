// Pull requests: GitHub's checks before one is opened, real files, counters and diffs, and its refusals to merge.
import { type Answer, json, unprocessable } from './answer.js';
import type { Front, FrontRequest } from './front.js';
import { fullNameOf, type RouteTable } from './front-routes.js';
import { asObject, asObjects, isObject, type Json, type JsonObject, numberAt, textAt } from './json.js';
import { mergePull } from './merge-pull.js';
import { paginate } from './routes-app.js';

// Fields that GitHub gives for a single pull request, never in a list.
const ONLY_SINGLE = [
  'merged',
  'mergeable',
  'mergeable_state',
  'rebaseable',
  'merged_by',
  'comments',
  'review_comments',
  'maintainer_can_modify',
  'commits',
  'additions',
  'deletions',
  'changed_files',
];

export function addPullRoutes(routes: RouteTable): void {
  const one = '/repos/:owner/:repo/pulls/:number';
  routes.on('GET', '/repos/:owner/:repo/pulls', listPulls);
  routes.on('POST', '/repos/:owner/:repo/pulls', createPull);
  routes.on('GET', one, getPull);
  routes.on('PATCH', one, updatePull);
  routes.on('GET', `${one}/files`, listFiles);
  routes.on('PUT', `${one}/merge`, mergePull);
}

async function listPulls(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (!Array.isArray(answer.body)) return answer;
  const pulls: Json[] = [];
  for (const pull of asObjects(answer.body)) {
    const current = await withCurrentHead(front, pull);
    for (const field of ONLY_SINGLE) delete current[field];
    pulls.push(current);
  }
  return { ...answer, body: pulls };
}

async function createPull(front: Front, request: FrontRequest): Promise<Answer> {
  const fullName = fullNameOf(request);
  const [account = ''] = fullName.split('/');
  const head = textAt(request.body, 'head').replace(new RegExp(`^${account}:`), '');
  const base = textAt(request.body, 'base');
  for (const [field, branch] of Object.entries({ head, base })) {
    const { status } = await front.ask('GET', `/repos/${fullName}/git/ref/heads/${branch}`);
    if (branch === '' || status !== 200) {
      return unprocessable({ resource: 'PullRequest', field, code: 'invalid' });
    }
  }
  const open = await front.askAll(`/repos/${fullName}/pulls?state=open&head=${account}:${head}&base=${base}`);
  if (open.length > 0) return refusedPull(`A pull request already exists for ${account}:${head}.`);
  const { json: comparison } = await front.ask('GET', `/repos/${fullName}/compare/${base}...${head}`);
  if (numberAt(comparison, 'ahead_by') === 0) return refusedPull(`No commits between ${base} and ${head}`);
  return withCounters(front, request, await front.forward(request));
}

function refusedPull(message: string): Answer {
  return unprocessable({ resource: 'PullRequest', code: 'custom', message });
}

async function getPull(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (answer.status !== 200 || !isObject(asJson(answer.body))) return answer;
  const format = /vnd\.github(?:\.v3)?\.(diff|patch)/.exec(request.accept)?.[1];
  if (format === undefined) return withCounters(front, request, answer);
  return diffOf(front, fullNameOf(request), asJson(answer.body), format);
}

/** The text that git gives for a pull request: from where its branch left the base to its head. */
async function diffOf(
  front: Front,
  fullName: string,
  pull: Json | undefined,
  format: string,
): Promise<Answer> {
  const [base, head] = [textAt(pull, 'base', 'sha'), textAt(pull, 'head', 'sha')];
  const body = await front.mirror.exclusively(fullName, async () => {
    await front.mirror.pull(fullName);
    return format === 'diff'
      ? front.mirror.git(fullName, ['diff', '--no-ext-diff', `${base}...${head}`])
      : front.mirror.git(fullName, ['format-patch', '--stdout', `${base}..${head}`]);
  });
  return {
    status: 200,
    headers: { 'content-type': `application/vnd.github.${format}; charset=utf-8` },
    body,
  };
}

async function updatePull(front: Front, request: FrontRequest): Promise<Answer> {
  // GitHub's REST API cannot change `draft`; emulate would.
  const { draft: _ignored, ...body } = asObject(request.body);
  return withCounters(front, request, await front.forward(request, { body }));
}

async function listFiles(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward({ ...request, query: new URLSearchParams() });
  if (answer.status !== 200) return answer;
  const fullName = fullNameOf(request);
  const { json: pull } = await front.ask('GET', `/repos/${fullName}/pulls/${request.params.number ?? ''}`);
  const files = await changedFiles(front, fullName, asObject(pull));
  const { slice, headers } = paginate(front, request, files);
  return { status: 200, headers, body: [...slice] };
}

async function changedFiles(front: Front, fullName: string, pull: JsonObject): Promise<JsonObject[]> {
  const comparison = await compare(front, fullName, pull);
  return asObjects(asObject(comparison).files);
}

async function compare(front: Front, fullName: string, pull: JsonObject): Promise<Json | undefined> {
  const current = await withCurrentHead(front, pull);
  const [base, head] = [textAt(current, 'base', 'sha'), textAt(current, 'head', 'sha')];
  return (await front.ask('GET', `/repos/${fullName}/compare/${base}...${head}`)).json;
}

/** The pull request of an answer with real counters; other answers unchanged. */
async function withCounters(front: Front, request: FrontRequest, answer: Answer): Promise<Answer> {
  const body = asJson(answer.body);
  if (answer.status >= 300 || !isObject(body)) return answer;
  return { ...answer, body: await withCountersOf(front, fullNameOf(request), body) };
}

/** A pull request with its current head and the real numbers of commits, files and lines. */
export async function withCountersOf(front: Front, fullName: string, pull: JsonObject): Promise<JsonObject> {
  const current = await withCurrentHead(front, pull);
  const comparison = await compare(front, fullName, current);
  const files = asObjects(asObject(comparison).files);
  const sum = (key: string) => files.reduce((total, file) => total + numberAt(file, key), 0);
  front.pullRequests.set(textAt(current, 'node_id'), { fullName, number: numberAt(current, 'number') });
  return {
    ...current,
    commits: numberAt(comparison, 'ahead_by') || numberAt(current, 'commits'),
    changed_files: files.length,
    additions: sum('additions'),
    deletions: sum('deletions'),
  };
}

/** A copy with the current head: emulate keeps that of the moment when the pull request was opened. */
export async function withCurrentHead(front: Front, pull: JsonObject): Promise<JsonObject> {
  const current: JsonObject = { ...pull };
  const head = asObject(pull.head);
  const merge = front.merges.get(textAt(pull, 'node_id'));
  if (pull.merged === true && merge !== undefined) {
    return { ...current, head: { ...head, sha: merge.head }, merge_commit_sha: merge.commit };
  }
  if (pull.state !== 'open') return current;
  const path = `/repos/${textAt(head, 'repo', 'full_name')}/git/ref/heads/${textAt(head, 'ref')}`;
  const { json: ref } = await front.ask('GET', path);
  const sha = textAt(ref, 'object', 'sha');
  if (sha !== '') current.head = { ...head, sha };
  return current;
}

function asJson(body: Answer['body']): Json | undefined {
  return Buffer.isBuffer(body) ? undefined : body;
}

/** Marks a draft as ready, as GraphQL's mutation does; gives the pull request, or undefined without a draft. */
export async function markReady(
  front: Front,
  fullName: string,
  number: number,
): Promise<JsonObject | undefined> {
  const { status, json: pull } = await front.ask('PATCH', `/repos/${fullName}/pulls/${number}`, {
    draft: false,
  });
  return status === 200 ? withCountersOf(front, fullName, asObject(pull)) : undefined;
}

/** An answer with a pull request read again from emulate. */
export async function readPull(front: Front, fullName: string, number: number): Promise<Answer> {
  const { status, json: pull } = await front.ask('GET', `/repos/${fullName}/pulls/${number}`);
  return json(
    status,
    status === 200 ? await withCountersOf(front, fullName, asObject(pull)) : (pull ?? null),
  );
}
