// Completes the payload of a webhook that emulate sends: full label, pull request instead of issue, numbers, changes.
import { complete } from './complete-answer.js';
import type { Front } from './front.js';
import { asObject, isObject, type JsonObject, numberAt, textAt } from './json.js';
import { pullReference } from './routes-issues.js';
import { withCountersOf } from './routes-pulls.js';

/** The event's name and payload as GitHub would send them. */
export async function completeWebhook(
  front: Front,
  event: string,
  received: JsonObject,
): Promise<{ event: string; payload: JsonObject }> {
  const payload: JsonObject = { ...received };
  const fullName = textAt(payload, 'repository', 'full_name');
  const account = fullName.split('/')[0] ?? '';
  let name = event;
  if (isObject(payload.issue)) payload.issue = { draft: false, ...payload.issue };
  if (isObject(payload.label)) payload.label = await fullLabel(front, fullName, payload.label);
  if (event === 'issues' && (await isPull(front, fullName, asObject(payload.issue)))) {
    name = 'pull_request';
    payload.pull_request = await readPull(front, fullName, numberAt(payload.issue, 'number'));
    delete payload.issue;
  }
  if (event === 'issue_comment') {
    await linkPull(front, fullName, payload);
    if (payload.action === 'edited') {
      const from = front.formerTexts.get(numberAt(payload.comment, 'id')) ?? '';
      payload.changes = { body: { from } };
    }
  }
  if (name === 'pull_request') {
    const pull = asObject(payload.pull_request);
    payload.number = numberAt(pull, 'number');
    payload.pull_request = { active_lock_reason: null, ...(await withCountersOf(front, fullName, pull)) };
    if (payload.action === 'edited') payload.changes = {};
  }
  if (front.seed.organizations.some((organization) => organization.login === account)) {
    payload.organization = organizationOf(front, payload);
  }
  return { event: name, payload: asObject(complete(front, payload)) };
}

async function fullLabel(front: Front, fullName: string, label: JsonObject): Promise<JsonObject> {
  const name = encodeURIComponent(textAt(label, 'name'));
  const { status, json } = await front.ask('GET', `/repos/${fullName}/labels/${name}`);
  return status === 200 ? asObject(json) : label;
}

// emulate sends `issues` with a pull request inside when a pull request gets a label.
async function isPull(front: Front, fullName: string, issue: JsonObject): Promise<boolean> {
  if ('head' in issue) return true;
  const { status } = await front.ask('GET', `/repos/${fullName}/pulls/${numberAt(issue, 'number')}`);
  return status === 200;
}

async function readPull(front: Front, fullName: string, number: number): Promise<JsonObject> {
  return asObject((await front.ask('GET', `/repos/${fullName}/pulls/${number}`)).json);
}

async function linkPull(front: Front, fullName: string, payload: JsonObject): Promise<void> {
  const issue = asObject(payload.issue);
  const { status, json } = await front.ask('GET', `/repos/${fullName}/pulls/${numberAt(issue, 'number')}`);
  if (status !== 200) return;
  payload.issue = {
    ...issue,
    draft: asObject(json).draft === true,
    pull_request: pullReference(front, asObject(json)),
  };
}

function organizationOf(front: Front, payload: JsonObject): JsonObject {
  const owner = asObject(asObject(payload.repository).owner);
  const login = textAt(owner, 'login');
  const url = `${front.url}/orgs/${login}`;
  return {
    login,
    id: owner.id ?? 0,
    node_id: textAt(owner, 'node_id'),
    url,
    repos_url: `${url}/repos`,
    events_url: `${url}/events`,
    hooks_url: `${url}/hooks`,
    issues_url: `${url}/issues`,
    members_url: `${url}/members{/member}`,
    public_members_url: `${url}/public_members{/member}`,
    avatar_url: `${front.url}/avatars/o/${login}`,
    description: '',
  };
}
