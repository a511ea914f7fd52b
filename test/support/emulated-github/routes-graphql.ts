// GraphQL: only `markPullRequestReadyForReview`, the one thing Hasten needs that REST cannot do.
import { randomUUID } from 'node:crypto';
import { mayUse } from './access.js';
import { type Answer, failure, json } from './answer.js';
import { completeWebhook } from './complete-webhook.js';
import type { Front, FrontRequest } from './front.js';
import type { RouteTable } from './front-routes.js';
import { asObject, at, type Json, type JsonObject, textAt } from './json.js';
import { markReady, readPull } from './routes-pulls.js';
import { callerAccount } from './routes-reactions.js';

const MUTATION =
  /^\s*mutation\b[^{]*\{\s*(?:\w+\s*:\s*)?markPullRequestReadyForReview\s*\(\s*input\s*:\s*(\$\w+|\{[^}]*\})\s*\)\s*\{([\s\S]*)\}\s*\}\s*$/;
const PULL_FIELDS: Readonly<Record<string, (pull: JsonObject) => Json>> = {
  __typename: () => 'PullRequest',
  id: (pull) => textAt(pull, 'node_id'),
  number: (pull) => pull.number ?? null,
  isDraft: (pull) => pull.draft === true,
  state: (pull) => (pull.merged === true ? 'MERGED' : textAt(pull, 'state').toUpperCase()),
  title: (pull) => textAt(pull, 'title'),
  url: (pull) => textAt(pull, 'html_url'),
};

export function addGraphqlRoutes(routes: RouteTable): void {
  routes.on('POST', '/graphql', serveGraphql);
}

async function serveGraphql(front: Front, request: FrontRequest): Promise<Answer> {
  if (request.principal.kind === 'anonymous')
    return failure(401, 'This endpoint requires you to be authenticated.');
  const document = textAt(request.body, 'query').replace(/#.*$/gm, '');
  const match = MUTATION.exec(document);
  if (match === null)
    return graphqlError('the rig answers only mutation markPullRequestReadyForReview(input: …)');
  const id = pullRequestId(match[1] ?? '', document, at(request.body, 'variables'));
  if (id === undefined)
    return graphqlError('Variable for pullRequestId of type ID! was provided invalid value');
  const unknown = fieldsOf(match[2] ?? '').filter((field) => PULL_FIELDS[field] === undefined);
  if (unknown.length > 0) return graphqlError(`Field '${unknown[0]}' doesn't exist on type 'PullRequest'`);
  const place = front.pullRequests.get(id);
  if (place === undefined) {
    return graphqlError(`Could not resolve to a node with the global id of '${id}'`, 'NOT_FOUND');
  }
  if (!mayUse(request, place.fullName, ['pull_requests'], 'write')) {
    return graphqlError('Resource not accessible by integration', 'FORBIDDEN');
  }
  const before = await readPull(front, place.fullName, place.number);
  const wasDraft = !Buffer.isBuffer(before.body) && at(before.body, 'draft') === true;
  const pull = await markReady(front, place.fullName, place.number);
  if (pull === undefined) return graphqlError('Pull request could not be changed');
  if (wasDraft) announceReady(front, request, place.fullName, pull);
  const selected = fieldsOf(match[2] ?? '').map((field) => [field, PULL_FIELDS[field]?.(pull) ?? null]);
  const result: JsonObject = { pullRequest: Object.fromEntries(selected) };
  return json(200, { data: { markPullRequestReadyForReview: result } });
}

/** The id from an inline input, from a whole input variable, or from a variable inside the input. */
function pullRequestId(input: string, document: string, variables: Json | undefined): string | undefined {
  if (input.startsWith('$')) return textAt(variables, input.slice(1), 'pullRequestId') || undefined;
  const value = /pullRequestId\s*:\s*("[^"]*"|\$\w+)/.exec(input)?.[1] ?? '';
  if (!value.startsWith('$')) return value.slice(1, -1) || undefined;
  const isDeclared = new RegExp(`\\${value}\\s*:\\s*ID!`).test(document);
  return isDeclared ? textAt(variables, value.slice(1)) || undefined : undefined;
}

function fieldsOf(selection: string): string[] {
  const inner = /pullRequest\s*\{([^}]*)\}?/.exec(selection)?.[1] ?? '';
  return inner.split(/[\s,]+/).filter((field) => field !== '');
}

function graphqlError(message: string, type?: string): Answer {
  const error: JsonObject = {
    message,
    ...(type === undefined ? {} : { type, path: ['markPullRequestReadyForReview'] }),
  };
  return json(200, { data: null, errors: [error] });
}

function announceReady(front: Front, request: FrontRequest, fullName: string, pull: JsonObject): void {
  front.relay.track(async () => {
    const { json: repository } = await front.ask('GET', `/repos/${fullName}`);
    const payload = {
      action: 'ready_for_review',
      number: pull.number ?? 0,
      pull_request: pull,
      repository: asObject(repository),
      sender: await callerAccount(front, request),
      installation: { id: installationOf(front, fullName) },
    };
    const finished = await completeWebhook(front, 'pull_request', payload);
    return front.relay.deliver(finished.event, finished.payload, randomUUID(), false);
  });
}

function installationOf(front: Front, fullName: string): number {
  const account = fullName.split('/')[0];
  return front.seed.app.installations.find((entry) => entry.account === account)?.id ?? 0;
}
