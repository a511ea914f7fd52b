// Reactions to issues and comments, and commit statuses: emulate has neither.
import { mayUse } from './access.js';
import { type Answer, json, notAccessible, notFound, unprocessable } from './answer.js';
import type { Front, FrontRequest } from './front.js';
import { fullNameOf, type RouteTable } from './front-routes.js';
import { asObject, type Json, type JsonObject, textAt } from './json.js';
import { paginate } from './routes-app.js';

const CONTENTS = new Set(['+1', '-1', 'laugh', 'confused', 'heart', 'hooray', 'rocket', 'eyes']);
const STATES = new Set(['error', 'failure', 'pending', 'success']);

export function addReactionRoutes(routes: RouteTable): void {
  for (const subject of ['/issues/:number', '/issues/comments/:number']) {
    const template = `/repos/:owner/:repo${subject}/reactions`;
    routes.on('GET', template, listReactions);
    routes.on('POST', template, createReaction);
    routes.on('DELETE', `${template}/:id`, deleteReaction);
  }
  routes.on('POST', '/repos/:owner/:repo/statuses/:sha', createStatus);
  routes.on('GET', '/repos/:owner/:repo/commits/*ref/statuses', listStatuses);
  routes.on('GET', '/repos/:owner/:repo/commits/*ref/status', combinedStatus);
}

/** The caller as GitHub's simple user: a person, or the App's bot. */
export async function callerAccount(front: Front, request: FrontRequest): Promise<JsonObject> {
  const { principal } = request;
  if (principal.kind === 'user') {
    return asObject((await front.ask('GET', `/users/${principal.login}`)).json);
  }
  const login = `${front.seed.app.slug}[bot]`;
  return { login, id: front.seed.app.id, node_id: 'BOT_rig', avatar_url: '', type: 'Bot', site_admin: false };
}

function subjectOf(request: FrontRequest): string {
  return request.path.replace(/\/reactions(\/\d+)?$/, '');
}

// An issue's path also names a pull request, whose permission then counts as well.
function mayReact(request: FrontRequest, level: 'read' | 'write'): boolean {
  return mayUse(request, fullNameOf(request), ['issues', 'pull_requests'], level);
}

async function subjectExists(front: Front, subject: string): Promise<boolean> {
  if ((await front.ask('GET', subject)).status === 200) return true;
  return (await front.ask('GET', subject.replace('/issues/', '/pulls/'))).status === 200;
}

async function listReactions(front: Front, request: FrontRequest): Promise<Answer> {
  const subject = subjectOf(request);
  if (!(await subjectExists(front, subject))) return notFound();
  const content = request.query.get('content');
  const found = front.reactions.filter((entry) => {
    return entry.subject === subject && (content === null || entry.content === content);
  });
  const { slice, headers } = paginate(front, request, found);
  return { status: 200, headers, body: slice.map(describeReaction) };
}

async function createReaction(front: Front, request: FrontRequest): Promise<Answer> {
  if (!mayReact(request, 'write')) return notAccessible();
  const subject = subjectOf(request);
  if (!(await subjectExists(front, subject))) return notFound();
  const content = textAt(request.body, 'content');
  if (!CONTENTS.has(content)) {
    return unprocessable({ resource: 'Reaction', field: 'content', code: 'invalid' });
  }
  const user = await callerAccount(front, request);
  const existing = front.reactions.find((entry) => {
    return entry.subject === subject && entry.content === content && entry.user.login === user.login;
  });
  if (existing !== undefined) return json(200, describeReaction(existing));
  const reaction = { id: front.nextId(), subject, content, user, createdAt: new Date().toISOString() };
  front.reactions.push(reaction);
  return json(201, describeReaction(reaction));
}

async function deleteReaction(front: Front, request: FrontRequest): Promise<Answer> {
  if (!mayReact(request, 'write')) return notAccessible();
  const subject = subjectOf(request);
  const index = front.reactions.findIndex((entry) => {
    return entry.subject === subject && entry.id === Number(request.params.id);
  });
  if (index === -1) return notFound();
  front.reactions.splice(index, 1);
  return { status: 204 };
}

function describeReaction(reaction: Front['reactions'][number]): JsonObject {
  const node = Buffer.from(`Reaction${reaction.id}`).toString('base64');
  const { id, user, content } = reaction;
  return { id, node_id: node, user, content, created_at: reaction.createdAt };
}

async function createStatus(front: Front, request: FrontRequest): Promise<Answer> {
  const fullName = fullNameOf(request);
  if (!mayUse(request, fullName, ['statuses'], 'write')) return notAccessible();
  const sha = request.params.sha ?? '';
  if ((await front.ask('GET', `/repos/${fullName}/git/commits/${sha}`)).status !== 200) {
    return unprocessable({ resource: 'Status', field: 'sha', code: 'invalid' });
  }
  const state = textAt(request.body, 'state');
  if (!STATES.has(state)) return unprocessable({ resource: 'Status', field: 'state', code: 'invalid' });
  const body = asObject(request.body);
  const now = new Date().toISOString();
  const id = front.nextId();
  const text = (key: string): Json => (typeof body[key] === 'string' ? body[key] : null);
  const status: JsonObject = {
    url: `${front.url}/repos/${fullName}/statuses/${sha}`,
    avatar_url: null,
    id,
    node_id: Buffer.from(`Status${id}`).toString('base64'),
    state,
    description: text('description'),
    target_url: text('target_url'),
    context: text('context') ?? 'default',
    created_at: now,
    updated_at: now,
    creator: await callerAccount(front, request),
  };
  const key = `${fullName}@${sha}`;
  front.statuses.set(key, [status, ...(front.statuses.get(key) ?? [])]);
  return json(201, status);
}

async function statusesOf(
  front: Front,
  request: FrontRequest,
): Promise<{ sha: string; found: JsonObject[] }> {
  const fullName = fullNameOf(request);
  const { json: commit } = await front.ask('GET', `/repos/${fullName}/commits/${request.params.ref ?? ''}`);
  const sha = textAt(commit, 'sha');
  return { sha, found: front.statuses.get(`${fullName}@${sha}`) ?? [] };
}

async function listStatuses(front: Front, request: FrontRequest): Promise<Answer> {
  const { sha, found } = await statusesOf(front, request);
  if (sha === '') return notFound();
  const { slice, headers } = paginate(front, request, found);
  return { status: 200, headers, body: [...slice] };
}

async function combinedStatus(front: Front, request: FrontRequest): Promise<Answer> {
  const fullName = fullNameOf(request);
  const { sha, found } = await statusesOf(front, request);
  if (sha === '') return notFound();
  const latest = [
    ...new Map([...found].reverse().map((status) => [textAt(status, 'context'), status])).values(),
  ];
  const states = latest.map((status) => textAt(status, 'state'));
  const failed = states.some((state) => state === 'failure' || state === 'error');
  const state = failed
    ? 'failure'
    : states.length > 0 && states.every((entry) => entry === 'success')
      ? 'success'
      : 'pending';
  const { json: repository } = await front.ask('GET', `/repos/${fullName}`);
  const url = `${front.url}/repos/${fullName}/commits/${sha}`;
  return json(200, {
    state,
    statuses: latest,
    sha,
    total_count: latest.length,
    repository: asObject(repository),
    commit_url: url,
    url: `${url}/status`,
  });
}
