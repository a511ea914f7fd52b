// What the handlers of the front share: emulate behind it, who may do what, and the state that emulate lacks.
import type { Answer } from './answer.js';
import type { BackendAnswer, EmulateBackend } from './emulate-backend.js';
import type { Faults } from './faults.js';
import type { GitMirror } from './git-mirror.js';
import type { Journal } from './journal.js';
import { asObject, asObjects, type Json, type JsonObject, numberAt, textAt } from './json.js';
import type { Permissions } from './permissions.js';
import type { Principal, Principals } from './principals.js';
import type { EmulatedGitHubSeed } from './seed.js';
import type { WebhookRelay } from './webhook-relay.js';

/** A request as a handler sees it; `path` has no `/api/v3`, `params` are the decoded parts of the route. */
export interface FrontRequest {
  readonly method: string;
  readonly path: string;
  /** The path as it came, not decoded. */
  readonly rawPath: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly body: Json | undefined;
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
}

export interface RepositoryFacts {
  readonly id: number;
  readonly fullName: string;
  readonly isPrivate: boolean;
  readonly defaultBranch: string;
}

export interface Reaction {
  readonly id: number;
  readonly subject: string;
  readonly content: string;
  readonly user: JsonObject;
  readonly createdAt: string;
}

/** Everything a handler may use. */
export class Front {
  readonly url: string;
  readonly seed: EmulatedGitHubSeed;
  readonly backend: EmulateBackend;
  readonly principals: Principals;
  readonly permissions: Permissions;
  readonly journal: Journal;
  readonly faults: Faults;
  readonly mirror: GitMirror;
  readonly relay: WebhookRelay;
  /** Reactions to issues and comments, oldest first. */
  readonly reactions: Reaction[] = [];
  /** Commit statuses by `full name@sha`, newest first. */
  readonly statuses = new Map<string, JsonObject[]>();
  /** Commits made by an App token without author and committer, which GitHub signs. */
  readonly signedCommits = new Set<string>();
  /** Where the pull request with a node id is: full name and number. */
  readonly pullRequests = new Map<string, { readonly fullName: string; readonly number: number }>();
  /** Merges made by the front, by the pull request's node id. */
  readonly merges = new Map<string, { readonly head: string; readonly commit: string }>();
  /** Texts of comments before their last change, by the comment's id. */
  readonly formerTexts = new Map<number, string>();
  /** Full names of all repositories made through the front, oldest first. */
  readonly repositories: string[] = [];
  readonly #facts = new Map<string, RepositoryFacts>();
  #lastId = 0;

  constructor(parts: {
    url: string;
    seed: EmulatedGitHubSeed;
    backend: EmulateBackend;
    principals: Principals;
    permissions: Permissions;
    journal: Journal;
    faults: Faults;
    mirror: GitMirror;
    relay: WebhookRelay;
  }) {
    this.url = parts.url;
    this.seed = parts.seed;
    this.backend = parts.backend;
    this.principals = parts.principals;
    this.permissions = parts.permissions;
    this.journal = parts.journal;
    this.faults = parts.faults;
    this.mirror = parts.mirror;
    this.relay = parts.relay;
  }

  /** The next id of an object that the front keeps itself. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Sends a request on to emulate as its caller, with parts of it replaced. */
  async forward(
    request: FrontRequest,
    replaced: { method?: string; path?: string; body?: Json | undefined; token?: string } = {},
  ): Promise<Answer> {
    const { principal } = request;
    const query = request.query.toString();
    const answer = await this.backend.call({
      method: replaced.method ?? request.method,
      path: replaced.path ?? `${request.rawPath}${query === '' ? '' : `?${query}`}`,
      token: replaced.token ?? ('token' in principal ? principal.token : undefined),
      accept: request.accept,
      body: 'body' in replaced ? replaced.body : bodyFor(request),
    });
    return asAnswer(answer);
  }

  /** Asks emulate with full rights on the account that owns the path's repository. */
  async ask(method: string, path: string, body?: Json): Promise<BackendAnswer> {
    const account = /^\/(?:repos|orgs|users)\/([^/]+)/.exec(path)?.[1] ?? '';
    const token = this.backend.internalToken(this.permissions.ownerOf(account));
    return this.backend.call({ method, path, token, body });
  }

  /** All entries of a list that emulate gives page by page. */
  async askAll(path: string): Promise<JsonObject[]> {
    const entries: JsonObject[] = [];
    for (let page = 1; ; page += 1) {
      const separator = path.includes('?') ? '&' : '?';
      const { json } = await this.ask('GET', `${path}${separator}per_page=100&page=${page}`);
      const found = asObjects(json);
      entries.push(...found);
      if (found.length < 100) return entries;
    }
  }

  /** Id, visibility and default branch of a repository; undefined when there is none of that name. */
  async repository(fullName: string): Promise<RepositoryFacts | undefined> {
    const known = this.#facts.get(fullName);
    if (known !== undefined) return known;
    const { status, json } = await this.ask('GET', `/repos/${fullName}`);
    if (status !== 200) return undefined;
    const facts: RepositoryFacts = {
      id: numberAt(json, 'id'),
      fullName,
      isPrivate: asObject(json).private === true,
      defaultBranch: textAt(json, 'default_branch'),
    };
    this.#facts.set(fullName, facts);
    return facts;
  }

  /** Makes the front ask emulate again about a repository. */
  forgetRepository(fullName: string): void {
    this.#facts.delete(fullName);
  }
}

// emulate refuses a writing request without a body; GitHub takes it as an empty object.
function bodyFor(request: FrontRequest): Json | undefined {
  return ['POST', 'PUT', 'PATCH'].includes(request.method) ? (request.body ?? {}) : request.body;
}

function asAnswer(answer: BackendAnswer): Answer {
  const kept = ['link', 'content-type', 'location'].concat(
    Object.keys(answer.headers).filter((name) => name.startsWith('x-ratelimit-')),
  );
  const headers: Record<string, string> = {};
  for (const name of kept) {
    const value = answer.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const body = answer.json ?? (answer.bytes.length > 0 ? answer.bytes : undefined);
  return { status: answer.status, headers, body };
}
