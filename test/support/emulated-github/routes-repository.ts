// Repositories: collaborators and their permission, commits that GitHub signs, and what the front must remember.
import { type Answer, json, notAccessible, notFound } from './answer.js';
import { describeApp } from './complete-answer.js';
import type { Front, FrontRequest } from './front.js';
import { fullNameOf, type RouteTable } from './front-routes.js';
import { asObject, isObject, type JsonObject, textAt } from './json.js';
import { asPermission, reaches } from './permissions.js';
import type { CollaboratorLevel } from './seed.js';

const LEVELS: readonly CollaboratorLevel[] = ['pull', 'triage', 'push', 'maintain', 'admin'];

export function addRepositoryRoutes(routes: RouteTable): void {
  const repository = '/repos/:owner/:repo';
  routes.on('POST', '/user/repos', createRepository);
  routes.on('POST', '/orgs/:org/repos', createRepository);
  routes.on('PATCH', repository, changeRepository);
  routes.on('DELETE', repository, changeRepository);
  routes.on('GET', `${repository}/collaborators/:login/permission`, getPermission);
  routes.on('PUT', `${repository}/collaborators/:login`, addCollaborator);
  routes.on('DELETE', `${repository}/collaborators/:login`, removeCollaborator);
  routes.on('GET', `${repository}/branches/*branch`, getBranch);
  routes.on('POST', `${repository}/git/commits`, createCommit);
  routes.on('PUT', `${repository}/contents/*path`, putContents);
  routes.on('GET', '/apps/:slug', async (front, request) => {
    return request.params.slug === front.seed.app.slug ? json(200, describeApp(front)) : notFound();
  });
}

async function createRepository(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (answer.status === 201 && !Buffer.isBuffer(answer.body)) {
    front.repositories.push(textAt(answer.body, 'full_name'));
  }
  return answer;
}

async function changeRepository(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  const fullName = fullNameOf(request);
  front.forgetRepository(fullName);
  if (answer.status === 204) {
    const index = front.repositories.indexOf(fullName);
    if (index !== -1) front.repositories.splice(index, 1);
  }
  return answer;
}

// emulate gives a branch's commit as its SHA alone.
async function getBranch(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (answer.status !== 200 || Buffer.isBuffer(answer.body) || !isObject(answer.body)) return answer;
  const sha = textAt(answer.body, 'commit', 'sha');
  if (sha === '') return answer;
  const { json: commit } = await front.ask('GET', `/repos/${fullNameOf(request)}/commits/${sha}`);
  const self = `${front.url}${request.path}`;
  const body: JsonObject = {
    ...answer.body,
    commit: commit ?? null,
    _links: { self, html: `${front.url}/${fullNameOf(request)}/tree/${request.params.branch ?? ''}` },
    protection: { enabled: answer.body.protected === true },
  };
  return { ...answer, body };
}

async function getPermission(front: Front, request: FrontRequest): Promise<Answer> {
  const { principal } = request;
  const fullName = fullNameOf(request);
  const isPrivate = (await front.repository(fullName))?.isPrivate === true;
  if (principal.kind === 'anonymous') return notFound();
  if (principal.kind === 'user') {
    const own = front.permissions.levelOf(fullName, isPrivate, principal.login);
    if (!reaches(own, 'push'))
      return {
        ...notAccessible(),
        body: { message: 'Must have push access to view collaborator permission.', status: '403' },
      };
  }
  const login = request.params.login ?? '';
  const account = await front.ask('GET', `/users/${encodeURIComponent(login)}`);
  if (account.status !== 200) return notFound();
  const level = front.permissions.levelOf(fullName, isPrivate, login);
  const flags = Object.fromEntries(LEVELS.map((wanted) => [wanted, reaches(level, wanted)]));
  const { permission, role_name } = asPermission(level);
  const user: JsonObject = { ...asObject(account.json), permissions: flags, role_name };
  return json(200, { permission, role_name, user });
}

async function addCollaborator(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (answer.status >= 300) return answer;
  const asked = textAt(request.body, 'permission');
  const level = LEVELS.find((entry) => entry === asked) ?? 'push';
  front.permissions.grant(fullNameOf(request), request.params.login ?? '', level);
  return { status: 204 };
}

async function removeCollaborator(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (answer.status === 204) front.permissions.withdraw(fullNameOf(request), request.params.login ?? '');
  return answer;
}

// Without author and committer GitHub makes the App's bot the author, commits itself and signs.
function signedBy(front: Front, request: FrontRequest): JsonObject | undefined {
  const body = asObject(request.body);
  if (request.principal.kind !== 'installation') return undefined;
  if (body.author !== undefined || body.committer !== undefined) return undefined;
  const { id, slug } = front.seed.app;
  const date = `${new Date().toISOString().slice(0, 19)}Z`;
  const email = `${id}+${slug}[bot]@users.noreply.github.com`;
  return {
    author: { name: `${slug}[bot]`, email, date },
    committer: { name: 'GitHub', email: 'noreply@github.com', date },
  };
}

async function createCommit(front: Front, request: FrontRequest): Promise<Answer> {
  const identities = signedBy(front, request);
  if (identities === undefined) return front.forward(request);
  const answer = await front.forward(request, { body: { ...asObject(request.body), ...identities } });
  if (answer.status === 201 && !Buffer.isBuffer(answer.body)) {
    front.signedCommits.add(textAt(answer.body, 'sha'));
  }
  return answer;
}

async function putContents(front: Front, request: FrontRequest): Promise<Answer> {
  const identities = signedBy(front, request);
  if (identities === undefined) return front.forward(request);
  const answer = await front.forward(request, { body: { ...asObject(request.body), ...identities } });
  if (answer.status < 300 && !Buffer.isBuffer(answer.body) && isObject(answer.body)) {
    front.signedCommits.add(textAt(answer.body, 'commit', 'sha'));
  }
  return answer;
}
