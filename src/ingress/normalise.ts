/** What a GitHub payload claims to mean, before GitHub is asked again. Pure; used before storing and when reading. */
import type { z } from 'zod';
import { type CommentCommand, parseCommentCommand } from './comment-command.js';
import {
  type Account,
  anyPayload,
  issueCommentCreated,
  issuesLabeled,
  type PayloadInstallation,
  type PayloadRepository,
  pullRequestClosed,
  pullRequestLabeled,
} from './github-payload.js';

/** The label that starts a run. */
const LABEL = 'hasten';
/** All branches of Hasten start with it. */
const BRANCH_PREFIX = 'hasten/';

export interface RepositoryClaim {
  /** GitHub's numeric id as text. */
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly installationId: number | null;
}

export interface PersonClaim {
  readonly login: string;
  readonly id: number;
}

/** Text of an issue as the payload shows it. */
export interface IssueClaim {
  readonly number: number;
  readonly title: string;
  readonly body: string;
}

export type Candidate =
  | { readonly kind: 'issue-label'; readonly issue: IssueClaim; readonly person: PersonClaim }
  | { readonly kind: 'pull-label'; readonly pullNumber: number; readonly person: PersonClaim }
  | {
      readonly kind: 'comment';
      readonly issue: IssueClaim;
      readonly onPullRequest: boolean;
      readonly commentId: number;
      readonly text: string;
      readonly command: Exclude<CommentCommand, { kind: 'none' }>;
      readonly person: PersonClaim;
      /** Epoch milliseconds. */
      readonly createdAt: number;
    }
  | { readonly kind: 'pull-closed'; readonly pullNumber: number; readonly person: PersonClaim };

export type Normalised =
  | { readonly kind: 'ignored'; readonly reason: string }
  | { readonly kind: 'malformed'; readonly problem: string }
  | {
      readonly kind: 'candidate';
      readonly action: string;
      readonly repository: RepositoryClaim;
      readonly candidate: Candidate;
    };

/** Sorts a payload (parsed JSON) of a GitHub event: not for us, not as GitHub describes it, or a candidate. */
export function normaliseGithub(event: string, payload: unknown): Normalised {
  const known = anyPayload.safeParse(payload);
  if (!known.success) return { kind: 'malformed', problem: problemOf(known.error) };
  switch (`${event}.${known.data.action ?? ''}`) {
    case 'issues.labeled':
      return sort(issuesLabeled, payload, labeledIssue);
    case 'issue_comment.created':
      return sort(issueCommentCreated, payload, createdComment);
    case 'pull_request.labeled':
      return sort(pullRequestLabeled, payload, labeledPull);
    case 'pull_request.closed':
      return sort(pullRequestClosed, payload, closedPull);
    default:
      return ignored('events of this kind mean nothing to Hasten');
  }
}

function sort<T>(schema: z.ZodType<T>, payload: unknown, read: (payload: T) => Normalised): Normalised {
  const parsed = schema.safeParse(payload);
  return parsed.success ? read(parsed.data) : { kind: 'malformed', problem: problemOf(parsed.error) };
}

function labeledIssue(payload: z.infer<typeof issuesLabeled>): Normalised {
  if (!isLabel(payload.label.name)) return ignored('another label');
  if (!isPerson(payload.sender)) return ignored('the label was not set by a person');
  const person = personOf(payload.sender);
  if (isSet(payload.issue.pull_request)) {
    return candidate('labeled', payload, { kind: 'pull-label', pullNumber: payload.issue.number, person });
  }
  return candidate('labeled', payload, { kind: 'issue-label', issue: issueOf(payload.issue), person });
}

function labeledPull(payload: z.infer<typeof pullRequestLabeled>): Normalised {
  if (!isLabel(payload.label.name)) return ignored('another label');
  if (!isPerson(payload.sender)) return ignored('the label was not set by a person');
  const person = personOf(payload.sender);
  return candidate('labeled', payload, {
    kind: 'pull-label',
    pullNumber: payload.pull_request.number,
    person,
  });
}

function createdComment(payload: z.infer<typeof issueCommentCreated>): Normalised {
  const { comment, issue, sender } = payload;
  const text = comment.body ?? '';
  const command = parseCommentCommand(text);
  if (command.kind === 'none') return ignored('the comment has no command');
  const author = comment.user;
  if (!author || !isPerson(author) || !isPerson(sender) || author.id !== sender.id) {
    return ignored('the comment is not from a person');
  }
  if (isSet(comment.performed_via_github_app)) return ignored('the comment was written by an app');
  const createdAt = Date.parse(comment.created_at);
  if (Number.isNaN(createdAt)) return { kind: 'malformed', problem: 'comment.created_at is not a time' };
  return candidate('created', payload, {
    kind: 'comment',
    issue: issueOf(issue),
    onPullRequest: isSet(issue.pull_request),
    commentId: comment.id,
    text,
    command,
    person: personOf(author),
    createdAt,
  });
}

function closedPull(payload: z.infer<typeof pullRequestClosed>): Normalised {
  const { pull_request: pull, repository } = payload;
  const ours = pull.head.ref.startsWith(BRANCH_PREFIX) && pull.head.repo?.id === repository.id;
  if (!ours) return ignored('the pull request is not from a branch of Hasten');
  const person = personOf(payload.sender);
  return candidate('closed', payload, { kind: 'pull-closed', pullNumber: pull.number, person });
}

function candidate(
  action: string,
  payload: { readonly repository: PayloadRepository; readonly installation?: PayloadInstallation },
  found: Candidate,
): Normalised {
  const { id, name, owner } = payload.repository;
  const repository = {
    id: String(id),
    owner: owner.login,
    name,
    installationId: payload.installation?.id ?? null,
  };
  return { kind: 'candidate', action, repository, candidate: found };
}

/** GitHub keeps the case of a label, but takes two that differ in it for one. */
export function isLabel(name: string): boolean {
  return name.toLowerCase() === LABEL;
}

/** Bots, organisations and ghosts never count. */
function isPerson(account: Account): boolean {
  return account.type === 'User' && !account.login.endsWith('[bot]');
}

function personOf(account: Account): PersonClaim {
  return { login: account.login, id: account.id };
}

function issueOf(issue: z.infer<typeof issuesLabeled>['issue']): IssueClaim {
  return { number: issue.number, title: issue.title, body: issue.body ?? '' };
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function ignored(reason: string): Normalised {
  return { kind: 'ignored', reason };
}

/** Where and why a payload differs from its schema, without its values. */
function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return issue === undefined
    ? 'unknown'
    : `${issue.path.map(String).join('.') || 'payload'}: ${issue.message}`;
}
