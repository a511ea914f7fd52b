/** What the delivery reader asks GitHub about one repository, with a token narrowed to it. */
import { z } from 'zod';
import type { RepositoryRef } from '../domain/repository.js';
import { type GithubAccess, READING, type TokenScope } from './github-access.js';
import { NotThere } from './github-failure.js';

const user = z.object({ login: z.string(), id: z.number(), type: z.string().optional() });
export type GithubUser = z.infer<typeof user>;

const repositoryAnswer = z.object({
  id: z.number().int(),
  name: z.string(),
  owner: z.object({ login: z.string() }),
  default_branch: z.string().min(1),
  archived: z.boolean().optional(),
  disabled: z.boolean().optional(),
});
const permissionAnswer = z.object({
  permission: z.string(),
  user: z.object({ id: z.number() }).nullish(),
});
const issueAnswer = z.object({
  number: z.number(),
  state: z.string(),
  title: z.string(),
  body: z.string().nullish(),
  user: user.nullish(),
  labels: z.array(z.union([z.string(), z.object({ name: z.string().nullish() })])).default([]),
  pull_request: z.unknown().optional(),
});
const commentAnswer = z.object({ id: z.number(), body: z.string().nullish(), user: user.nullish() });
const pullAnswer = z.object({
  number: z.number(),
  state: z.string(),
  merged: z.boolean().optional(),
  merged_at: z.string().nullish(),
  merged_by: user.nullish(),
});
const refAnswer = z.object({ object: z.object({ sha: z.string().regex(/^[0-9a-f]{40}$/) }) });

export interface CurrentIssue {
  readonly number: number;
  readonly open: boolean;
  readonly title: string;
  readonly body: string;
  readonly author: GithubUser | null;
  readonly labels: readonly string[];
  readonly isPullRequest: boolean;
}

export interface CurrentPull {
  readonly open: boolean;
  readonly merged: boolean;
  readonly mergedBy: string | null;
}

/** Permissions that may write: GitHub maps `maintain` and custom roles onto them. */
const WRITERS: ReadonlySet<string> = new Set(['write', 'maintain', 'admin']);

export class RepositoryQuestions {
  private constructor(
    private readonly access: GithubAccess,
    private readonly scope: TokenScope,
    private readonly signal: AbortSignal,
    /** The repository as GitHub has it now. */
    readonly repository: RepositoryRef,
  ) {}

  /** Looks a repository up. Throws NotThere when it is gone, archived, or another one than `id` says. */
  static async open(
    access: GithubAccess,
    named: {
      readonly owner: string;
      readonly name: string;
      readonly id: string | null;
      readonly installationId: number;
    },
    signal: AbortSignal,
  ): Promise<RepositoryQuestions> {
    const { installationId } = named;
    const scope = {
      installationId,
      repositoryId: named.id,
      repositoryName: named.name,
      permissions: READING,
    };
    const found = await access.askAs(
      scope,
      {
        route: 'GET /repos/{owner}/{repo}',
        parameters: { owner: named.owner, repo: named.name },
        answer: repositoryAnswer,
        what: 'the repository',
      },
      signal,
    );
    if (named.id !== null && String(found.id) !== named.id)
      throw new NotThere('another repository has this name now');
    if (found.archived || found.disabled) throw new NotThere('the repository is archived or disabled');
    return new RepositoryQuestions(access, scope, signal, {
      id: String(found.id),
      owner: found.owner.login,
      name: found.name,
      installationId,
      defaultBranch: found.default_branch,
      cloneUrl: access.cloneUrl(found.owner.login, found.name),
    });
  }

  /** Whether an account may write now; false for strangers and for a login that belongs to somebody else by now. */
  async mayWrite(account: { readonly login: string; readonly id: number }): Promise<boolean> {
    try {
      const { permission, user: found } = await this.ask(
        'GET /repos/{owner}/{repo}/collaborators/{username}/permission',
        { username: account.login },
        permissionAnswer,
        `the permission of ${account.login}`,
      );
      return WRITERS.has(permission) && (!found || found.id === account.id);
    } catch (error) {
      if (error instanceof NotThere) return false;
      throw error;
    }
  }

  async issue(number: number): Promise<CurrentIssue> {
    const issue = await this.ask(
      'GET /repos/{owner}/{repo}/issues/{issue_number}',
      { issue_number: number },
      issueAnswer,
      `issue ${number}`,
    );
    return {
      number: issue.number,
      open: issue.state === 'open',
      title: issue.title,
      body: issue.body ?? '',
      author: issue.user ?? null,
      labels: issue.labels.map((label) => (typeof label === 'string' ? label : (label.name ?? ''))),
      isPullRequest: issue.pull_request !== undefined && issue.pull_request !== null,
    };
  }

  async comment(id: number): Promise<{ readonly body: string; readonly author: GithubUser | null }> {
    const comment = await this.ask(
      'GET /repos/{owner}/{repo}/issues/comments/{comment_id}',
      { comment_id: id },
      commentAnswer,
      `comment ${id}`,
    );
    return { body: comment.body ?? '', author: comment.user ?? null };
  }

  async pull(number: number): Promise<CurrentPull> {
    const pull = await this.ask(
      'GET /repos/{owner}/{repo}/pulls/{pull_number}',
      { pull_number: number },
      pullAnswer,
      `pull request ${number}`,
    );
    const merged = pull.merged === true || (pull.merged_at !== undefined && pull.merged_at !== null);
    return { open: pull.state === 'open', merged, mergedBy: pull.merged_by?.login ?? null };
  }

  /** Commit (40 hex) at the head of the default branch now. */
  async headCommit(): Promise<string> {
    const { defaultBranch } = this.repository;
    const ref = await this.ask(
      'GET /repos/{owner}/{repo}/git/ref/{ref}',
      { ref: `heads/${defaultBranch}` },
      refAnswer,
      'the head of the default branch',
    );
    return ref.object.sha;
  }

  private ask<T>(
    route: string,
    parameters: Readonly<Record<string, string | number>>,
    answer: z.ZodType<T>,
    what: string,
  ): Promise<T> {
    const { owner, name } = this.repository;
    const question = { route, parameters: { owner, repo: name, ...parameters }, answer, what };
    return this.access.askAs(this.scope, question, this.signal);
  }
}
