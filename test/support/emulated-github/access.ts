// Refuses what GitHub refuses and emulate lets through: hidden repositories and people without the permission.
import { type Answer, badCredentials, failure, notFound } from './answer.js';
import type { Front, FrontRequest, RepositoryFacts } from './front.js';
import { asObject, textAt } from './json.js';
import { type Level, reaches } from './permissions.js';
import { covers, granted } from './principals.js';

const REPOSITORY_PATH = /^\/repos\/([^/]+)\/([^/]+)(\/.*)?$/;
const JWT_PATH = /^\/app(\/|$)|^\/(?:repos\/[^/]+\/[^/]+|orgs\/[^/]+|users\/[^/]+)\/installation$/;

// What a person needs for a writing request; the author of an issue or comment may change it with less.
const NEEDED: readonly [method: RegExp, rest: RegExp, level: Level, authorMay: boolean][] = [
  [/POST|PUT|DELETE/, /^\/issues\/\d+\/labels/, 'triage', false],
  [/POST|DELETE/, /^\/issues\/\d+\/assignees/, 'triage', false],
  [/PATCH/, /^\/issues\/\d+$/, 'triage', true],
  [/PATCH|DELETE/, /^\/issues\/comments\/\d+$/, 'push', true],
  [/POST|PATCH|DELETE/, /^\/labels/, 'push', false],
  [/POST/, /^\/pulls$/, 'push', false],
  [/PATCH/, /^\/pulls\/\d+$/, 'push', true],
  [/PUT/, /^\/pulls\/\d+\/(merge|update-branch)$/, 'push', false],
  [/POST/, /^\/statuses\//, 'push', false],
  [/PATCH|DELETE/, /^$/, 'admin', false],
  [/PUT|DELETE/, /^\/collaborators\//, 'admin', false],
];

/** The refusal of a request, or undefined when emulate or a handler may go on with it. */
export async function refuse(front: Front, request: FrontRequest): Promise<Answer | undefined> {
  const { principal, path } = request;
  if (principal.kind === 'invalid') return failure(401, principal.message);
  if (JWT_PATH.test(path)) {
    return principal.kind === 'app' ? undefined : failure(401, 'A JSON web token could not be decoded');
  }
  if (principal.kind === 'app') return badCredentials();
  const match = REPOSITORY_PATH.exec(path);
  if (match === null) return undefined;
  const repository = await front.repository(`${match[1]}/${match[2]}`);
  if (repository === undefined || !canSee(front, request, repository)) return notFound();
  return refuseWrite(front, request, repository, match[3] ?? '');
}

function canSee(front: Front, request: FrontRequest, repository: RepositoryFacts): boolean {
  if (!repository.isPrivate) return true;
  const { principal } = request;
  if (principal.kind === 'installation') return covers(principal, repository.fullName);
  if (principal.kind !== 'user') return false;
  return front.permissions.levelOf(repository.fullName, true, principal.login) !== 'none';
}

async function refuseWrite(
  front: Front,
  request: FrontRequest,
  repository: RepositoryFacts,
  rest: string,
): Promise<Answer | undefined> {
  const { principal, method } = request;
  if (principal.kind !== 'user' || method === 'GET') return undefined;
  if (rest.startsWith('/check-runs')) return failure(403, 'You must authenticate via a GitHub App.');
  const rule = NEEDED.find(([methods, pattern]) => methods.test(method) && pattern.test(rest));
  if (rule === undefined) return undefined;
  const [, , level, authorMay] = rule;
  const held = front.permissions.levelOf(repository.fullName, repository.isPrivate, principal.login);
  if (reaches(held, level)) return undefined;
  if (authorMay && (await isAuthor(front, request, principal.login))) return undefined;
  return failure(403, `Must have ${level} rights to Repository.`);
}

async function isAuthor(front: Front, request: FrontRequest, login: string): Promise<boolean> {
  const changed = Object.keys(asObject(request.body));
  if (!changed.every((key) => ['title', 'body', 'state', 'state_reason'].includes(key))) return false;
  const { json } = await front.ask('GET', request.path);
  return textAt(json, 'user', 'login') === login;
}

/** True when an App token covers the repository and holds one of the permissions at this level; people pass. */
export function mayUse(
  request: FrontRequest,
  fullName: string,
  permissions: readonly string[],
  level: 'read' | 'write',
): boolean {
  const { principal } = request;
  if (principal.kind === 'user') return true;
  if (principal.kind !== 'installation' || !covers(principal, fullName)) return false;
  return permissions.some((permission) => granted(principal, permission, level));
}
