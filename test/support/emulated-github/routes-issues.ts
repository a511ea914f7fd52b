// Issues and their comments: pull requests seen as issues, `since`, and what people without push access lose.
import { type Answer, json } from './answer.js';
import type { Front, FrontRequest } from './front.js';
import { fullNameOf, type RouteTable } from './front-routes.js';
import { asObject, asObjects, isObject, type JsonObject, textAt } from './json.js';
import { reaches } from './permissions.js';
import { paginate } from './routes-app.js';

export function addIssueRoutes(routes: RouteTable): void {
  routes.on('GET', '/search/issues', searchIssues);
  routes.on('GET', '/repos/:owner/:repo/issues', listIssues);
  routes.on('POST', '/repos/:owner/:repo/issues', createIssue);
  routes.on('GET', '/repos/:owner/:repo/issues/:number', getIssue);
  routes.on('PATCH', '/repos/:owner/:repo/issues/:number', updateIssue);
  routes.on('GET', '/repos/:owner/:repo/issues/:number/comments', listComments);
  routes.on('PATCH', '/repos/:owner/:repo/issues/comments/:id', updateComment);
}

/** A pull request in the form of an issue, as `GET /issues/{number}` and `issue_comment` show it. */
export function pullAsIssue(front: Front, pull: JsonObject): JsonObject {
  const url = textAt(pull, 'issue_url');
  const kept = [
    'id',
    'node_id',
    'number',
    'title',
    'user',
    'labels',
    'state',
    'locked',
    'assignee',
    'assignees',
    'milestone',
    'created_at',
    'updated_at',
    'closed_at',
    'author_association',
    'body',
    'html_url',
    'draft',
  ];
  const issue: JsonObject = {};
  for (const key of kept) issue[key] = pull[key] ?? null;
  return {
    ...issue,
    url,
    repository_url: url.replace(/\/issues\/\d+$/, ''),
    labels_url: `${url}/labels{/name}`,
    comments_url: `${url}/comments`,
    events_url: `${url}/events`,
    timeline_url: `${url}/timeline`,
    comments: pull.comments ?? 0,
    active_lock_reason: null,
    state_reason: null,
    closed_by: null,
    performed_via_github_app: null,
    reactions: { url: `${url}/reactions`, total_count: 0 },
    pull_request: pullReference(front, pull),
  };
}

/** The `pull_request` key of an issue that is one. */
export function pullReference(front: Front, pull: JsonObject): JsonObject {
  const html = textAt(pull, 'html_url') || front.url;
  return {
    url: textAt(pull, 'url'),
    html_url: html,
    diff_url: `${html}.diff`,
    patch_url: `${html}.patch`,
    merged_at: pull.merged_at ?? null,
  };
}

// GitHub lists pull requests among the issues; emulate leaves them out.
async function listIssues(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (!Array.isArray(answer.body)) return answer;
  const fullName = fullNameOf(request);
  const query = new URLSearchParams(request.query);
  query.delete('page');
  query.delete('per_page');
  const issues = await front.askAll(`/repos/${fullName}/issues?${query}`);
  const pulls = await front.askAll(`/repos/${fullName}/pulls?state=${request.query.get('state') ?? 'open'}`);
  const asIssues = pulls.map((pull) => pullAsIssue(front, pull)).filter((issue) => matches(request, issue));
  const direction = request.query.get('direction') === 'asc' ? 1 : -1;
  const field = request.query.get('sort') === 'updated' ? 'updated_at' : 'created_at';
  const all = [...issues, ...asIssues].sort((left, right) => {
    return direction * textAt(left, field).localeCompare(textAt(right, field));
  });
  const { slice, headers } = paginate(front, request, all);
  return { status: 200, headers, body: [...slice] };
}

async function searchIssues(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (answer.status !== 200 || Buffer.isBuffer(answer.body) || !isObject(answer.body)) return answer;
  const items = asObjects(answer.body.items).map((item) =>
    'head' in item ? pullAsIssue(front, item) : item,
  );
  const scored = items.map((item) => ({ ...item, score: 1 }));
  return { ...answer, body: { ...answer.body, search_type: 'lexical', items: scored } };
}

function matches(request: FrontRequest, issue: JsonObject): boolean {
  const { query } = request;
  const labels = (query.get('labels') ?? '').split(',').filter((name) => name !== '');
  const held = asObjects(issue.labels).map((label) => textAt(label, 'name'));
  if (!labels.every((name) => held.includes(name))) return false;
  const creator = query.get('creator');
  if (creator !== null && creator !== textAt(issue, 'user', 'login')) return false;
  if (query.has('milestone') || query.has('assignee')) return false;
  return textAt(issue, 'updated_at') >= (query.get('since') ?? '');
}

async function createIssue(front: Front, request: FrontRequest): Promise<Answer> {
  const { principal } = request;
  if (principal.kind !== 'user') return front.forward(request);
  const fullName = fullNameOf(request);
  const isPrivate = (await front.repository(fullName))?.isPrivate === true;
  if (reaches(front.permissions.levelOf(fullName, isPrivate, principal.login), 'push')) {
    return front.forward(request);
  }
  const { labels: _labels, assignees: _assignees, milestone: _milestone, ...body } = asObject(request.body);
  return front.forward(request, { body });
}

async function getIssue(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (answer.status !== 404) return answer;
  const pull = await front.forward(request, { path: request.path.replace('/issues/', '/pulls/') });
  if (pull.status !== 200 || Buffer.isBuffer(pull.body) || !isObject(pull.body)) return answer;
  return json(200, pullAsIssue(front, pull.body));
}

// A pull request's title, text, state and labels can be changed through its issue.
async function updateIssue(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (answer.status !== 404) return answer;
  const body = asObject(request.body);
  if (body.labels !== undefined) {
    await front.forward(request, {
      method: 'PUT',
      path: `${request.path}/labels`,
      body: { labels: body.labels },
    });
  }
  const path = request.path.replace('/issues/', '/pulls/');
  const changes: JsonObject = {};
  for (const key of ['title', 'body', 'state']) if (body[key] !== undefined) changes[key] = body[key];
  const pull = await front.forward(request, { path, body: changes });
  if (pull.status !== 200 || Buffer.isBuffer(pull.body) || !isObject(pull.body)) return answer;
  return json(200, pullAsIssue(front, pull.body));
}

async function listComments(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  const since = request.query.get('since');
  if (since === null || answer.status !== 200) return answer;
  const start = Date.parse(since);
  const all = await front.askAll(request.path);
  const found = all.filter((comment) => Date.parse(textAt(comment, 'updated_at')) >= start);
  const { slice, headers } = paginate(front, request, found);
  return { status: 200, headers, body: [...slice] };
}

async function updateComment(front: Front, request: FrontRequest): Promise<Answer> {
  const { json: before } = await front.ask('GET', request.path);
  front.formerTexts.set(Number(request.params.id), textAt(before, 'body'));
  return front.forward(request);
}
