/** The App at GitHub: its own requests, and tokens for one repository with the permissions of one task, in memory only. */
import type { Logger } from 'pino';
import { ProbotOctokit } from 'probot';
import { z } from 'zod';
import type { GithubAppSettings } from '../config/github-app-settings.js';
import type { GithubHost } from '../config/service-settings.js';
import type { CloneCredentials } from '../domain/credentials.js';
import { PeerError } from '../domain/errors.js';
import type { RepositoryRef } from '../domain/repository.js';
import { NotThere } from './github-failure.js';
import { askGithub, type GithubQuestion } from './github-request.js';
import { quietLog } from './quiet-log.js';

export type TokenPermissions = Readonly<Record<string, 'read' | 'write'>>;

/** What a token is for. */
export interface TokenScope {
  readonly installationId: number;
  /** GitHub's numeric id as text; null: known by name only. */
  readonly repositoryId: string | null;
  readonly repositoryName: string;
  readonly permissions: TokenPermissions;
}

export interface AppIdentity {
  readonly id: number;
  readonly slug: string;
  /** Login under which the App writes. */
  readonly login: string;
}

export interface GithubAccessOptions {
  readonly app: GithubAppSettings;
  readonly github: GithubHost;
  readonly log: Logger;
  /** Epoch milliseconds; the clock when left out. */
  readonly now?: () => number;
}

/** Reading permissions of the delivery reader. */
export const READING: TokenPermissions = {
  metadata: 'read',
  contents: 'read',
  issues: 'read',
  pull_requests: 'read',
};

/** A token that runs out sooner is not handed out: a clone may take minutes. */
const TOKEN_MARGIN_MS = 10 * 60_000;
const MAX_TOKENS = 1000;

const tokenAnswer = z.object({ token: z.string().min(1), expires_at: z.string() });
const identityAnswer = z.object({ id: z.number(), slug: z.string().min(1) });
const installationAnswer = z.object({
  id: z.number().int().positive(),
  account: z.object({ login: z.string() }).nullish(),
  suspended_at: z.string().nullish(),
});

interface HeldToken {
  readonly token: Promise<{ readonly value: string; readonly expiresAt: number }>;
  /** Epoch milliseconds; until it is minted, the present. */
  expiresAt: number;
}

/** Makes the App's access to GitHub; nothing is asked yet. */
export function createGithubAccess(options: GithubAccessOptions): GithubAccess {
  return new GithubAccess(options);
}

export class GithubAccess implements CloneCredentials {
  private readonly app: ProbotOctokit;
  private readonly tokens = new Map<string, HeldToken>();
  private readonly now: () => number;
  private identity: AppIdentity | null = null;

  constructor(private readonly options: GithubAccessOptions) {
    const { app, github } = options;
    this.now = options.now ?? Date.now;
    this.app = this.octokit({ appId: app.id, privateKey: app.privateKey }, github.apiUrl);
  }

  /** Address that git clones a repository from. */
  cloneUrl(owner: string, name: string): string {
    return `${this.options.github.webUrl}/${owner}/${name}.git`;
  }

  /** Asks as the App itself. Throws NotThere or PeerError. */
  askAsApp<T>(question: GithubQuestion<T>, signal: AbortSignal): Promise<T> {
    return askGithub(this.app, question, signal, this.now);
  }

  /** Asks with a token of the scope. Throws NotThere or PeerError. */
  async askAs<T>(scope: TokenScope, question: GithubQuestion<T>, signal: AbortSignal): Promise<T> {
    const token = await this.token(scope, signal);
    try {
      const octokit = this.octokit({ token }, this.options.github.apiUrl);
      return await askGithub(octokit, question, signal, this.now);
    } catch (error) {
      if (error instanceof PeerError && error.code === 'GITHUB_CREDENTIALS_REFUSED')
        this.tokens.delete(keyOf(scope));
      throw error;
    }
  }

  /**
   * A token for one repository and the given permissions, good for at least ten minutes. The same scope shares one.
   * Throws NotThere when the App is not installed there (any more) or lacks a permission, else PeerError.
   */
  async token(scope: TokenScope, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const key = keyOf(scope);
    const held = this.tokens.get(key);
    if (held && held.expiresAt > this.now() + TOKEN_MARGIN_MS) return (await held.token).value;
    const minting: HeldToken = { token: this.mint(scope), expiresAt: Number.POSITIVE_INFINITY };
    this.hold(key, minting);
    const { value } = await minting.token;
    signal.throwIfAborted();
    return value;
  }

  /** The token of a repository for a station's permissions; null for local repositories. Throws PeerError. */
  async repositoryToken(
    repository: RepositoryRef,
    permissions: TokenPermissions,
    signal: AbortSignal,
  ): Promise<string | null> {
    if (repository.installationId === null) return null;
    const { id, name, installationId } = repository;
    try {
      return await this.token(
        { installationId, repositoryId: id, repositoryName: name, permissions },
        signal,
      );
    } catch (error) {
      if (!(error instanceof NotThere)) throw error;
      throw new PeerError({
        code: 'GITHUB_ACCESS_LOST',
        message: `${error.message}. The App must be installed on the repository with the permissions of app.yml.`,
        retryable: false,
        cause: error,
      });
    }
  }

  tokenFor(repository: RepositoryRef, signal: AbortSignal): Promise<string | null> {
    return this.repositoryToken(repository, { metadata: 'read', contents: 'read' }, signal);
  }

  /** The App's installation that covers a repository; null when there is none or it is suspended. */
  async installationOf(
    owner: string,
    name: string,
    signal: AbortSignal,
  ): Promise<{ readonly id: number; readonly account: string } | null> {
    try {
      const installation = await this.askAsApp(
        {
          route: 'GET /repos/{owner}/{repo}/installation',
          parameters: { owner, repo: name },
          answer: installationAnswer,
          what: 'the installation on the repository',
        },
        signal,
      );
      if (installation.suspended_at) return null;
      return { id: installation.id, account: installation.account?.login ?? owner };
    } catch (error) {
      if (error instanceof NotThere) return null;
      throw error;
    }
  }

  /** Who the App is, from GitHub; asked once. Throws PeerError. */
  async whoAmI(signal: AbortSignal): Promise<AppIdentity> {
    if (this.identity !== null) return this.identity;
    const question = { route: 'GET /app', parameters: {}, answer: identityAnswer, what: 'the App itself' };
    const { id, slug } = await this.askAsApp(question, signal);
    this.identity = { id, slug, login: `${slug}[bot]` };
    return this.identity;
  }

  /** Not tied to the asker's signal: others may wait for the same token. */
  private async mint(scope: TokenScope): Promise<{ value: string; expiresAt: number }> {
    const numeric = scope.repositoryId !== null && /^\d+$/.test(scope.repositoryId);
    const only = numeric
      ? { repository_ids: [Number(scope.repositoryId)] }
      : { repositories: [scope.repositoryName] };
    const question = {
      route: 'POST /app/installations/{installation_id}/access_tokens',
      parameters: {
        installation_id: scope.installationId,
        ...only,
        permissions: { ...scope.permissions },
      },
      answer: tokenAnswer,
      what: 'a token for the repository',
    };
    const { token, expires_at } = await this.askAsApp(question, new AbortController().signal);
    const expiresAt = Date.parse(expires_at);
    return { value: token, expiresAt: Number.isNaN(expiresAt) ? this.now() : expiresAt };
  }

  private hold(key: string, minting: HeldToken): void {
    for (const [held, { expiresAt }] of this.tokens) {
      if (expiresAt <= this.now() || this.tokens.size >= MAX_TOKENS) this.tokens.delete(held);
    }
    this.tokens.set(key, minting);
    minting.token.then(
      ({ expiresAt }) => {
        minting.expiresAt = expiresAt;
      },
      () => {
        if (this.tokens.get(key) === minting) this.tokens.delete(key);
      },
    );
  }

  /** Retries and waiting for limits are the engine's work: it knows the lease, the deadline and the other repositories. */
  private octokit(auth: Readonly<Record<string, unknown>>, baseUrl: string): ProbotOctokit {
    const log = quietLog(this.options.log);
    return new ProbotOctokit({ auth, baseUrl, log, throttle: { enabled: false }, retry: { enabled: false } });
  }
}

function keyOf(scope: TokenScope): string {
  const permissions = Object.entries(scope.permissions).sort(([left], [right]) => (left < right ? -1 : 1));
  return JSON.stringify([scope.installationId, scope.repositoryId, scope.repositoryName, permissions]);
}
