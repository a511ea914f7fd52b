// `installation` and `installation_repositories` webhooks, which emulate never sends: GitHub's published example
// with this rig's App, account and repositories in it.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { complete, describeApp } from './complete-answer.js';
import type { Front } from './front.js';
import { asObject, asObjects, type JsonObject, parseJson, textAt } from './json.js';

const EXAMPLES = '@octokit/webhooks-examples/api.github.com/index.json';
let examples: JsonObject[] | undefined;

/** All published example payloads of an event. */
export function webhookExamples(event: string): JsonObject[] {
  const file = createRequire(import.meta.url).resolve(EXAMPLES);
  examples ??= asObjects(parseJson(readFileSync(file, 'utf8')));
  return asObjects(examples.find((entry) => entry.name === event)?.examples);
}

/** The payload of an event about the App's first installation. */
export async function installationWebhook(front: Front, event: string, action: string): Promise<JsonObject> {
  const example = webhookExamples(event).find((entry) => entry.action === action);
  if (example === undefined) throw new Error(`GitHub publishes no example of ${event}.${action}`);
  const [installation] = front.seed.app.installations;
  if (installation === undefined) throw new Error('the seed has no installation');
  const repositories: JsonObject[] = [];
  for (const fullName of front.repositories) {
    const { json } = await front.ask('GET', `/repos/${fullName}`);
    const { id, node_id, name, full_name, private: isPrivate } = asObject(json);
    repositories.push({ id, node_id, name, full_name, private: isPrivate });
  }
  const kind = front.seed.organizations.some((entry) => entry.login === installation.account)
    ? 'orgs'
    : 'users';
  const { json: account } = await front.ask('GET', `/${kind}/${installation.account}`);
  const sender = asObject(
    (await front.ask('GET', `/users/${front.permissions.ownerOf(installation.account)}`)).json,
  );
  const { id, slug, permissions, events } = describeApp(front);
  const payload: JsonObject = {
    ...example,
    installation: {
      ...asObject(example.installation),
      id: installation.id,
      account: { ...asObject(account), type: kind === 'orgs' ? 'Organization' : 'User' },
      app_id: id,
      app_slug: slug,
      permissions,
      events,
      suspended_at: action === 'suspend' ? new Date().toISOString() : null,
    },
    sender,
  };
  if ('repositories' in example) payload.repositories = repositories;
  if ('repositories_added' in example) payload.repositories_added = action === 'added' ? repositories : [];
  if ('repositories_removed' in example)
    payload.repositories_removed = action === 'removed' ? repositories : [];
  if (textAt(payload, 'action') !== action) throw new Error(`example of another action: ${event}.${action}`);
  return asObject(complete(front, payload));
}
