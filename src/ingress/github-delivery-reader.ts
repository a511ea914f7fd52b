/** Turns a stored delivery into its meaning: everything that counts is asked of GitHub again, with nothing changed by it. */
import type { AlertSource } from '../config/alert-sources.js';
import type { Delivery, DeliveryReader, Reading } from '../domain/delivery.js';
import { readAlert } from './alert-reading.js';
import type { GithubAccess } from './github-access.js';
import { NotThere } from './github-failure.js';
import { type Candidate, isLabel, normaliseGithub, type RepositoryClaim } from './normalise.js';
import { HELP_REPLY, PULL_REQUEST_REPLY, SEVERAL_REPLY } from './replies.js';
import { type CurrentIssue, RepositoryQuestions } from './repository-questions.js';

export interface DeliveryReaderDeps {
  readonly access: GithubAccess;
  /** Logins in lower case. */
  readonly allowedAccounts: readonly string[];
  readonly alertSources: readonly AlertSource[];
}

type Of<K extends Candidate['kind']> = Extract<Candidate, { kind: K }>;

export class GithubDeliveryReader implements DeliveryReader {
  constructor(private readonly deps: DeliveryReaderDeps) {}

  async read(delivery: Delivery, signal: AbortSignal): Promise<Reading> {
    try {
      return delivery.source === 'alert'
        ? await readAlert(delivery, this.deps, signal)
        : await this.readGithub(delivery, signal);
    } catch (error) {
      if (error instanceof NotThere) return ignored(error.message);
      throw error;
    }
  }

  private async readGithub(delivery: Delivery, signal: AbortSignal): Promise<Reading> {
    const meaning = normaliseGithub(delivery.event, parsed(delivery.body));
    if (meaning.kind === 'ignored') return ignored(meaning.reason);
    if (meaning.kind === 'malformed') return ignored(`not a payload of GitHub: ${meaning.problem}`);
    const github = await this.open(meaning.repository, signal);
    const { candidate } = meaning;
    switch (candidate.kind) {
      case 'issue-label':
        return labeledIssue(delivery, candidate, github);
      case 'pull-label':
        return labeledPull(candidate, github);
      case 'comment':
        return commented(delivery, candidate, github);
      case 'pull-closed':
        return closedPull(candidate, github);
    }
  }

  private async open(claim: RepositoryClaim, signal: AbortSignal): Promise<RepositoryQuestions> {
    const installationId =
      claim.installationId ?? (await this.deps.access.installationOf(claim.owner, claim.name, signal))?.id;
    if (installationId === undefined) throw new NotThere('the App is not installed on the repository');
    const github = await RepositoryQuestions.open(this.deps.access, { ...claim, installationId }, signal);
    if (!this.deps.allowedAccounts.includes(github.repository.owner.toLowerCase())) {
      throw new NotThere('this service does not serve the account');
    }
    return github;
  }
}

async function labeledIssue(
  delivery: Delivery,
  { issue: claimed, person }: Of<'issue-label'>,
  github: RepositoryQuestions,
): Promise<Reading> {
  if (!(await github.mayWrite(person))) return ignored(`${person.login} has no write permission`);
  const issue = await github.issue(claimed.number);
  if (issue.isPullRequest) return reply(github, issue.number, PULL_REQUEST_REPLY);
  if (!issue.labels.some(isLabel)) return ignored('the label is gone again');
  if (!issue.open) return ignored('the issue is closed');
  return trigger(delivery, github, {
    source: 'issue-label',
    issue,
    claimed,
    person,
    hint: null,
    at: delivery.receivedAt,
  });
}

async function labeledPull(
  { pullNumber, person }: Of<'pull-label'>,
  github: RepositoryQuestions,
): Promise<Reading> {
  if (!(await github.mayWrite(person))) return ignored(`${person.login} has no write permission`);
  const { labels } = await github.issue(pullNumber);
  return labels.some(isLabel)
    ? reply(github, pullNumber, PULL_REQUEST_REPLY)
    : ignored('the label is gone again');
}

async function commented(
  delivery: Delivery,
  candidate: Of<'comment'>,
  github: RepositoryQuestions,
): Promise<Reading> {
  const { command, commentId, person, issue: claimed } = candidate;
  const { number } = claimed;
  const comment = await github.comment(commentId);
  if (comment.author?.id !== person.id) return ignored('the comment has another author');
  if (comment.body !== candidate.text) return ignored('the comment was edited');
  if (!(await github.mayWrite(person))) return ignored(`${person.login} has no write permission`);
  if (command.kind === 'unknown') return reply(github, number, HELP_REPLY);
  if (command.kind === 'several') return reply(github, number, SEVERAL_REPLY);
  if (command.kind === 'command') {
    const { name, text } = command;
    const { repository } = github;
    const { createdAt } = candidate;
    return {
      kind: 'command',
      command: { name, repository, issueNumber: number, commentId, actor: person.login, text, createdAt },
    };
  }
  const issue = await github.issue(number);
  if (candidate.onPullRequest || issue.isPullRequest) return reply(github, number, PULL_REQUEST_REPLY);
  if (!issue.open) return ignored('the issue is closed');
  return trigger(delivery, github, {
    source: 'command',
    issue,
    claimed,
    person,
    hint: command.hint,
    at: candidate.createdAt,
  });
}

async function closedPull(
  { pullNumber, person }: Of<'pull-closed'>,
  github: RepositoryQuestions,
): Promise<Reading> {
  const pull = await github.pull(pullNumber);
  if (pull.open) return ignored('the pull request is open again');
  return {
    kind: 'pull-request-ended',
    repository: github.repository,
    pullNumber,
    fate: pull.merged ? 'merged' : 'closed',
    by: pull.mergedBy ?? person.login,
  };
}

interface Asked {
  readonly source: 'issue-label' | 'command';
  readonly issue: CurrentIssue;
  /** Text of the issue when the person asked. */
  readonly claimed: { readonly title: string; readonly body: string };
  readonly person: { readonly login: string; readonly id: number };
  readonly hint: string | null;
  readonly at: number;
}

async function trigger(delivery: Delivery, github: RepositoryQuestions, asked: Asked): Promise<Reading> {
  const { issue } = asked;
  const [outsideText, baseCommit] = [await hasOutsideText(github, asked), await github.headCommit()];
  return {
    kind: 'trigger',
    trigger: {
      id: `github:${delivery.id}`,
      source: asked.source,
      repository: github.repository,
      issueNumber: issue.number,
      title: issue.title,
      body: issue.body,
      hint: asked.hint,
      actor: asked.person.login,
      outsideText,
      baseCommit,
      requestedAt: asked.at,
      collapseKey: `issue:${issue.number}`,
    },
  };
}

/** A text that changed between asking and reading counts as foreign too: nobody knows who changed it. */
async function hasOutsideText(
  github: RepositoryQuestions,
  { issue, claimed, person }: Asked,
): Promise<boolean> {
  if (issue.title !== claimed.title || issue.body !== claimed.body) return true;
  if (issue.author === null || issue.author.type === 'Bot') return true;
  if (issue.author.id === person.id) return false;
  return !(await github.mayWrite(issue.author));
}

function reply(github: RepositoryQuestions, issueNumber: number, text: string): Reading {
  return { kind: 'reply', repository: github.repository, issueNumber, text };
}

function ignored(reason: string): Reading {
  return { kind: 'ignored', reason };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
