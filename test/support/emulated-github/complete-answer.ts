// Completes GitHub's objects wherever they appear in emulate's answers and webhooks: accounts, repositories,
// issues, comments, commits, check runs.
import type { Front } from './front.js';
import { asObject, at, isObject, type Json, type JsonObject, textAt } from './json.js';

const REACTIONS = ['+1', '-1', 'laugh', 'hooray', 'confused', 'heart', 'rocket', 'eyes'];

/** A copy of a value from emulate with every object in it as complete as GitHub sends it. */
export function complete(front: Front, value: Json): Json {
  if (Array.isArray(value)) return value.map((entry) => complete(front, entry));
  if (!isObject(value)) return value;
  const object: JsonObject = {};
  for (const [key, entry] of Object.entries(value)) {
    if (entry !== undefined) object[key] = complete(front, entry);
  }
  return completeObject(front, object);
}

function completeObject(front: Front, object: JsonObject): JsonObject {
  if ('login' in object && 'avatar_url' in object) return completeAccount(front, object);
  if ('full_name' in object && 'private' in object && 'owner' in object) return completeRepository(object);
  if (isObject(object.reactions)) return completeDiscussion(front, object);
  if ('access_tokens_url' in object) return { ...object, target_id: at(object, 'account', 'id') ?? 0 };
  if ('check_suite' in object && 'head_sha' in object) return completeCheckRun(front, object);
  if ('verification' in object) return completeVerification(front, object);
  if (isObject(object.commit) && 'sha' in object) return completeCommit(front, object);
  return object;
}

/** All fields of GitHub's simple user; a bot's name is encoded in its addresses. */
function completeAccount(front: Front, object: JsonObject): JsonObject {
  const login = textAt(object, 'login');
  const url = `${front.url}/users/${encodeURIComponent(login)}`;
  const isBot = login.endsWith('[bot]');
  return {
    ...object,
    avatar_url: `${front.url}/avatars/u/${encodeURIComponent(login)}`,
    gravatar_id: '',
    url,
    html_url: isBot ? `${front.url}/apps/${login.replace('[bot]', '')}` : `${front.url}/${login}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    site_admin: object.site_admin === true,
    type: textAt(object, 'type') || 'User',
  };
}

function completeRepository(object: JsonObject): JsonObject {
  return {
    network_count: 0,
    subscribers_count: 0,
    web_commit_signoff_required: false,
    custom_properties: {},
    has_pull_requests: true,
    ...object,
    pushed_at: object.pushed_at ?? object.created_at ?? null,
    license: completeLicense(object.license),
  };
}

function completeLicense(license: Json | undefined): Json {
  if (!isObject(license)) return null;
  return { url: null, node_id: '', ...license };
}

/** An issue or a comment: its reactions are counted, its App is named. */
function completeDiscussion(front: Front, object: JsonObject): JsonObject {
  const summary = asObject(object.reactions);
  const subject = textAt(summary, 'url')
    .replace(front.url, '')
    .replace(/\/reactions$/, '');
  const counts: JsonObject = { url: `${front.url}${subject}/reactions`, total_count: 0 };
  const found = front.reactions.filter((reaction) => reaction.subject === subject);
  for (const content of REACTIONS)
    counts[content] = found.filter((entry) => entry.content === content).length;
  counts.total_count = found.length;
  const byApp = textAt(object, 'user', 'login') === `${front.seed.app.slug}[bot]`;
  return {
    ...object,
    reactions: counts,
    ...('performed_via_github_app' in object
      ? { performed_via_github_app: byApp ? describeApp(front) : null }
      : {}),
  };
}

/** The App as GitHub describes it in check runs, comments and `GET /app`. */
export function describeApp(front: Front): JsonObject {
  const { app, organizations } = front.seed;
  const owner = organizations[0]?.login ?? front.seed.users[0] ?? 'ghost';
  const account = { login: owner, id: 1, node_id: 'O_rig', avatar_url: '', type: 'Organization' };
  return {
    id: app.id,
    slug: app.slug,
    node_id: Buffer.from(`App${app.id}`).toString('base64'),
    client_id: `Iv1.rig${app.id}`,
    owner: completeAccount(front, account),
    name: app.name,
    description: '',
    external_url: 'https://example.test/hasten',
    html_url: `${front.url}/apps/${app.slug}`,
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    permissions: { ...app.permissions },
    events: [...app.events],
  };
}

function completeCheckRun(front: Front, object: JsonObject): JsonObject {
  const url = textAt(object, 'url');
  return {
    ...object,
    app: describeApp(front),
    output: { ...asObject(object.output), annotations_url: `${url}/annotations` },
  };
}

/** Commits that the App made without naming an author are signed by GitHub. */
function completeVerification(front: Front, object: JsonObject): JsonObject {
  const sha = textAt(object, 'sha') || textAt(object, 'url').split('/').at(-1) || '';
  if (!front.signedCommits.has(sha)) return object;
  const signature = '-----BEGIN PGP SIGNATURE-----\n\nrig\n-----END PGP SIGNATURE-----';
  const date = textAt(object, 'committer', 'date') || '2026-01-01T00:00:00Z';
  return {
    ...object,
    verification: { verified: true, reason: 'valid', signature, payload: `tree ${sha}`, verified_at: date },
  };
}

function completeCommit(front: Front, object: JsonObject): JsonObject {
  const url = textAt(object, 'url');
  const commit = asObject(object.commit);
  const tree = asObject(commit.tree);
  const repositoryUrl = url.split('/commits/')[0] ?? front.url;
  return {
    ...object,
    commit: { ...commit, tree: { ...tree, url: `${repositoryUrl}/git/trees/${textAt(tree, 'sha')}` } },
  };
}
