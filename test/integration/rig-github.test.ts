// The gaps of emulate that the rig closes: each test names what GitHub does.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { appToken, installationToken, rest } from '../support/app-client.js';
import { type EmulatedGitHub, startEmulatedGitHub } from '../support/emulated-github/emulated-github.js';
import { asArray, asObjects, at, type JsonObject, textAt } from '../support/emulated-github/json.js';
import { tokenOf } from '../support/emulated-github/seed.js';

const APP = '/repos/acme/app';
const HIDDEN = '/repos/acme/hidden';
let github: EmulatedGitHub;
let base: string;
let token: string;

beforeAll(async () => {
  github = await startEmulatedGitHub();
  base = await github.createRepository({ owner: 'acme', name: 'app', files: { 'a.js': '1\n2\n3\n' } });
  await github.createRepository({ owner: 'acme', name: 'hidden', private: true, files: { 'b.js': '1\n' } });
  token = await installationToken(github);
});
afterAll(() => github.close());

/** A commit of the App on a new branch that changes one file. */
async function branchWithChange(branch: string, content: string): Promise<string> {
  const tree = textAt((await rest(github, token, 'GET', `${APP}/git/commits/${base}`)).json, 'tree', 'sha');
  const entry = { path: 'a.js', mode: '100644', type: 'blob', content };
  const changed = await rest(github, token, 'POST', `${APP}/git/trees`, { base_tree: tree, tree: [entry] });
  const commit = await rest(github, token, 'POST', `${APP}/git/commits`, {
    message: 'Make a.js faster',
    tree: textAt(changed.json, 'sha'),
    parents: [base],
  });
  const sha = textAt(commit.json, 'sha');
  const ref = await rest(github, token, 'POST', `${APP}/git/refs`, { ref: `refs/heads/${branch}`, sha });
  expect(ref.status).toBe(201);
  return sha;
}

async function openPull(body: JsonObject) {
  return rest(github, token, 'POST', `${APP}/pulls`, { title: 'Faster', base: 'main', ...body });
}

describe('tokens', () => {
  test('a garbage token is refused on every path', async () => {
    for (const path of ['/user', APP, '/rate_limit', '/installation/repositories']) {
      expect(await rest(github, 'ghs_garbage', 'GET', path), path).toMatchObject({ status: 401 });
    }
  });

  test('a revoked installation token is refused', async () => {
    const revoked = await installationToken(github);
    expect((await rest(github, revoked, 'GET', APP)).status).toBe(200);
    expect((await rest(github, revoked, 'DELETE', '/installation/token')).status).toBe(204);
    expect((await rest(github, revoked, 'GET', APP)).status).toBe(401);
  });

  test('a JWT that lives longer than ten minutes is refused, a shorter one is the App', async () => {
    const now = Date.now();
    const long = await rest(github, appToken(github.app, now, 3600), 'GET', '/app');
    expect(long).toMatchObject({ status: 401 });
    const answer = await rest(github, appToken(github.app, now), 'GET', '/app');
    expect(answer.json).toMatchObject({ slug: github.app.slug, owner: { login: 'acme' } });
  });

  test('a JWT signed with another key is refused', async () => {
    const other = await startEmulatedGitHub();
    try {
      expect((await rest(github, appToken(other.app, Date.now()), 'GET', '/app')).status).toBe(401);
    } finally {
      await other.close();
    }
  });

  test('a JWT is no token for a repository, and an installation token is no JWT', async () => {
    expect((await rest(github, appToken(github.app, Date.now()), 'GET', APP)).status).toBe(401);
    expect((await rest(github, token, 'GET', `${APP}/installation`)).status).toBe(401);
  });

  test('an installation sees the repositories its token is narrowed to', async () => {
    const all = await rest(github, token, 'GET', '/installation/repositories');
    expect(at(all.json, 'total_count')).toBe(2);
    const narrowed = await installationToken(github, { repositories: ['app'] });
    const one = await rest(github, narrowed, 'GET', '/installation/repositories');
    expect(asArray(at(one.json, 'repositories'))).toMatchObject([{ full_name: 'acme/app' }]);
    expect((await rest(github, narrowed, 'GET', HIDDEN)).status).toBe(404);
  });

  test('a token without the permission gets 403', async () => {
    const reading = await installationToken(github, { permissions: { contents: 'read', issues: 'read' } });
    const blob = await rest(github, reading, 'POST', `${APP}/git/blobs`, { content: 'x' });
    expect(blob).toMatchObject({ status: 403, json: { message: 'Resource not accessible by integration' } });
    const number = await github.people.openIssue('reader', 'acme/app', { title: 'x' });
    const path = `${APP}/issues/${number}/reactions`;
    expect((await rest(github, reading, 'POST', path, { content: 'eyes' })).status).toBe(403);
  });
});

describe('people', () => {
  test.each([
    ['owner', 'admin', 'admin'],
    ['writer', 'write', 'write'],
    ['reader', 'read', 'read'],
    ['stranger', 'read', 'read'],
  ])('%s has the permission %s on a public repository', async (login, permission, role) => {
    const answer = await rest(github, token, 'GET', `${APP}/collaborators/${login}/permission`);
    expect(answer).toMatchObject({ status: 200, json: { permission, role_name: role } });
  });

  test('a stranger has the permission none on a private repository, an unknown login gets 404', async () => {
    const answer = await rest(github, token, 'GET', `${HIDDEN}/collaborators/stranger/permission`);
    expect(answer.json).toMatchObject({ permission: 'none' });
    expect((await rest(github, token, 'GET', `${APP}/collaborators/nobody/permission`)).status).toBe(404);
  });

  test('a private repository does not exist for a stranger and for nobody', async () => {
    expect((await rest(github, tokenOf('stranger'), 'GET', HIDDEN)).status).toBe(404);
    expect((await rest(github, undefined, 'GET', `${HIDDEN}/contents/b.js`)).status).toBe(404);
    expect((await rest(github, tokenOf('reader'), 'GET', HIDDEN)).status).toBe(200);
  });

  test('a stranger cannot label or close an issue of another, and labels of a new issue are dropped', async () => {
    const number = await github.people.openIssue('reader', 'acme/app', { title: 'slow' });
    const label = { labels: ['hasten'] };
    const path = `${APP}/issues/${number}`;
    expect((await rest(github, tokenOf('stranger'), 'POST', `${path}/labels`, label)).status).toBe(403);
    expect((await rest(github, tokenOf('stranger'), 'PATCH', path, { state: 'closed' })).status).toBe(403);
    expect((await rest(github, tokenOf('reader'), 'PATCH', path, { title: 'very slow' })).status).toBe(200);
    const own = { title: 'mine', ...label };
    const opened = await rest(github, tokenOf('stranger'), 'POST', `${APP}/issues`, own);
    expect(opened.json).toMatchObject({ title: 'mine', labels: [] });
  });
});

describe('pull requests', () => {
  test('one for a branch that does not exist is refused and no branch appears', async () => {
    const answer = await openPull({ head: 'hasten/none' });
    expect(answer).toMatchObject({ status: 422, json: { errors: [{ field: 'head', code: 'invalid' }] } });
    expect([...(await github.branches('acme/app')).keys()]).not.toContain('hasten/none');
  });

  test('one without commits and a second one for the same branch are refused', async () => {
    await github.people.createBranch('writer', 'acme/app', 'same', base);
    const empty = await openPull({ head: 'same' });
    expect(textAt(asObjects(at(empty.json, 'errors'))[0], 'message')).toBe(
      'No commits between main and same',
    );
    await branchWithChange('hasten/twice', '1\n');
    expect((await openPull({ head: 'hasten/twice' })).status).toBe(201);
    const second = await openPull({ head: 'acme:hasten/twice' });
    expect(textAt(asObjects(at(second.json, 'errors'))[0], 'message')).toBe(
      'A pull request already exists for acme:hasten/twice.',
    );
  });

  test('counters, files and diff are those of the change', async () => {
    await branchWithChange('hasten/files', '1\n2\n4\n5\n');
    const pull = await openPull({ head: 'hasten/files', draft: true });
    expect(pull.json).toMatchObject({
      draft: true,
      changed_files: 1,
      additions: 2,
      deletions: 1,
      commits: 1,
    });
    const path = `${APP}/pulls/${at(pull.json, 'number')}`;
    const files = await rest(github, token, 'GET', `${path}/files`);
    expect(files.json).toMatchObject([{ filename: 'a.js', status: 'modified', additions: 2, deletions: 1 }]);
    const diff = await rest(github, token, 'GET', path, undefined, 'application/vnd.github.diff');
    expect(diff.text).toContain('diff --git a/a.js b/a.js');
    expect(diff.text).toContain('+4\n+5\n');
  });

  test('a list shows no counters and finds closed ones by their branch', async () => {
    await branchWithChange('hasten/closed', 'closed\n');
    const number = Number(at((await openPull({ head: 'hasten/closed' })).json, 'number'));
    await github.people.closePull('writer', 'acme/app', number);
    const list = await rest(github, token, 'GET', `${APP}/pulls?state=all&head=acme:hasten/closed`);
    expect(list.json).toMatchObject([{ number, state: 'closed' }]);
    expect(asObjects(list.json)[0]).not.toHaveProperty('changed_files');
  });

  test('a draft and a wrong head are not merged, a merged one is not merged again', async () => {
    await branchWithChange('hasten/merge', 'merge\n');
    const pull = await openPull({ head: 'hasten/merge', draft: true });
    const path = `${APP}/pulls/${at(pull.json, 'number')}`;
    const merge = (body: JsonObject) => rest(github, tokenOf('writer'), 'PUT', `${path}/merge`, body);
    expect((await merge({})).status).toBe(405);
    await markReady(textAt(pull.json, 'node_id'));
    expect((await merge({ sha: base })).status).toBe(409);
    expect((await merge({})).status).toBe(200);
    expect((await merge({})).status).toBe(405);
    expect(await github.file('acme/app', 'a.js', 'main')).toBe('merge\n');
  });

  test('a merge keeps what came to the base and to the branch meanwhile, a conflict is refused', async () => {
    const { people } = github;
    await people.createBranch('writer', 'acme/app', 'old', base);
    const one = { path: 'one.js', content: '1\n', branch: 'old' };
    await people.commitFile('writer', 'acme/app', one);
    const number = await people.openPull('writer', 'acme/app', { title: 'Old', head: 'old', base: 'main' });
    const head = await people.commitFile('writer', 'acme/app', { ...one, content: '2\n' });
    await people.commitFile('writer', 'acme/app', { path: 'main.js', content: 'main\n', branch: 'main' });
    const merged = await people.mergePull('writer', 'acme/app', number);
    expect((await github.branches('acme/app')).get('main')).toBe(merged);
    expect(await github.file('acme/app', 'one.js', 'main')).toBe('2\n');
    expect(await github.file('acme/app', 'main.js', 'main')).toBe('main\n');
    const seen = await rest(github, token, 'GET', `${APP}/pulls/${number}`);
    expect(seen.json).toMatchObject({ merged: true, merge_commit_sha: merged, head: { sha: head } });
    await people.createBranch('writer', 'acme/app', 'conflict', base);
    await people.commitFile('writer', 'acme/app', {
      path: 'main.js',
      content: 'other\n',
      branch: 'conflict',
    });
    const pull = { title: 'Conflict', head: 'conflict', base: 'main' };
    const second = await people.openPull('writer', 'acme/app', pull);
    await expect(people.mergePull('writer', 'acme/app', second)).rejects.toThrow('405');
  });

  test('only GraphQL makes a draft ready, and it knows its ids and fields', async () => {
    await branchWithChange('hasten/draft', 'draft\n');
    const pull = await openPull({ head: 'hasten/draft', draft: true });
    const path = `${APP}/pulls/${at(pull.json, 'number')}`;
    await rest(github, token, 'PATCH', path, { draft: false });
    expect(at((await rest(github, token, 'GET', path)).json, 'draft')).toBe(true);
    expect(at(await markReady('nonsense'), 'errors')).toMatchObject([{ type: 'NOT_FOUND' }]);
    expect(at(await markReady(textAt(pull.json, 'node_id'), 'isReady'), 'errors')).toBeDefined();
    const done = await markReady(textAt(pull.json, 'node_id'));
    expect(done).toMatchObject({
      data: { markPullRequestReadyForReview: { pullRequest: { isDraft: false } } },
    });
    expect(at((await rest(github, token, 'GET', path)).json, 'draft')).toBe(false);
  });

  async function markReady(id: string, field = 'isDraft') {
    const query = `mutation ($id: ID!) {
      markPullRequestReadyForReview(input: { pullRequestId: $id }) { pullRequest { ${field} } }
    }`;
    const answer = await fetch(`${github.url}/api/graphql`, {
      method: 'POST',
      headers: { authorization: `bearer ${token}` },
      body: JSON.stringify({ query, variables: { id } }),
    });
    return JSON.parse(await answer.text());
  }
});

describe('issues, commits and checks', () => {
  test('a reaction is made once per account: 201, then 200', async () => {
    const number = await github.people.openIssue('reader', 'acme/app', { title: 'slow' });
    const comment = await github.people.comment('reader', 'acme/app', number, 'please');
    for (const subject of [`issues/${number}`, `issues/comments/${comment}`]) {
      const path = `${APP}/${subject}/reactions`;
      expect((await rest(github, token, 'POST', path, { content: 'eyes' })).status).toBe(201);
      expect((await rest(github, token, 'POST', path, { content: 'eyes' })).status).toBe(200);
      expect((await rest(github, tokenOf('writer'), 'POST', path, { content: 'eyes' })).status).toBe(201);
      expect(github.reactions('acme/app', subject)).toEqual(['eyes', 'eyes']);
    }
    const issue = await rest(github, token, 'GET', `${APP}/issues/${number}`);
    expect(at(issue.json, 'reactions')).toMatchObject({ total_count: 2, eyes: 2 });
  });

  test('`since` leaves out comments that were not changed after it', async () => {
    const number = await github.people.openIssue('reader', 'acme/app', { title: 'slow' });
    await github.people.comment('reader', 'acme/app', number, 'old');
    const path = `${APP}/issues/${number}/comments`;
    const [old] = await github.comments('acme/app', number);
    const later = new Date(Date.parse(textAt(old, 'updated_at')) + 1).toISOString();
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(later));
    await github.people.comment('reader', 'acme/app', number, 'new');
    expect((await rest(github, token, 'GET', `${path}?since=${later}`)).json).toMatchObject([
      { body: 'new' },
    ]);
  });

  test('a pull request is an issue with a pull_request key', async () => {
    await branchWithChange('hasten/issue', 'issue\n');
    const number = at((await openPull({ head: 'hasten/issue' })).json, 'number');
    const issue = await rest(github, token, 'GET', `${APP}/issues/${number}`);
    expect(issue.json).toMatchObject({ number, pull_request: { merged_at: null } });
    const list = await rest(github, token, 'GET', `${APP}/issues?per_page=100`);
    expect(asObjects(list.json).map((entry) => entry.number)).toContain(number);
  });

  test('a commit of the App without an author is signed and has the bot as its author', async () => {
    const sha = await branchWithChange('hasten/signed', 'signed\n');
    const commit = await rest(github, token, 'GET', `${APP}/commits/${sha}`);
    expect(at(commit.json, 'commit', 'verification')).toMatchObject({ verified: true, reason: 'valid' });
    expect(at(commit.json, 'author')).toMatchObject({ login: 'hasten-rig[bot]', type: 'Bot' });
    const before = await rest(github, token, 'GET', `${APP}/commits/${base}`);
    expect(at(before.json, 'commit', 'verification', 'verified')).toBe(false);
  });

  test('a failed status makes the combined status a failure', async () => {
    const path = `${APP}/statuses/${base}`;
    for (const state of ['failure', 'pending']) {
      const body = { state, context: state };
      expect((await rest(github, tokenOf('writer'), 'POST', path, body)).status).toBe(201);
    }
    const combined = await rest(github, token, 'GET', `${APP}/commits/${base}/status`);
    expect(combined.json).toMatchObject({ state: 'failure', total_count: 2 });
  });

  test('a check run names its App, and people cannot make one', async () => {
    const body = { name: 'hasten', head_sha: base, external_id: 'run-1' };
    const made = await rest(github, token, 'POST', `${APP}/check-runs`, body);
    expect(made.json).toMatchObject({ app: { slug: 'hasten-rig' }, external_id: 'run-1' });
    expect(textAt(made.json, 'output', 'annotations_url')).toContain('/annotations');
    expect((await rest(github, tokenOf('writer'), 'POST', `${APP}/check-runs`, body)).status).toBe(403);
  });

  test('raw contents are bytes, and an empty body counts as an empty object', async () => {
    const raw = 'application/vnd.github.raw+json';
    const file = await rest(github, token, 'GET', `${HIDDEN}/contents/b.js`, undefined, raw);
    expect(file.text).toBe('1\n');
    const path = `/app/installations/${github.app.installationId}/access_tokens`;
    expect((await rest(github, appToken(github.app, Date.now()), 'POST', path)).status).toBe(201);
    expect((await rest(github, token, 'POST', `${APP}/issues`)).status).toBe(422);
  });

  test('pages are linked within /api/v3', async () => {
    const page = await rest(github, token, 'GET', `${APP}/issues?per_page=1`);
    expect(page.headers.get('link')).toContain(`<${github.url}/api/v3${APP}/issues?`);
    expect(page.headers.get('x-ratelimit-used')).toMatch(/^\d+$/);
    expect(page.headers.get('x-github-request-id')).toBeTruthy();
  });
});

describe('journal and faults', () => {
  test('the journal tells who asked for what with which permissions', async () => {
    const narrowed = await installationToken(github, { permissions: { issues: 'write' } });
    github.clearRequests();
    await rest(github, narrowed, 'POST', `${APP}/issues`, { title: 'told' });
    expect(github.requests()).toMatchObject([
      {
        method: 'POST',
        path: `${APP}/issues`,
        mount: '/api/v3',
        caller: 'installation',
        permissions: { issues: 'write' },
        requestBody: { title: 'told' },
        status: 201,
      },
    ]);
    expect(github.count({ caller: 'user' })).toBe(0);
  });

  test('an injected answer is met as often as asked, with its headers', async () => {
    const effect = { kind: 'answer', status: 429, headers: { 'retry-after': '1' } } as const;
    const fault = github.injectFault({ method: 'GET', path: APP, skip: 1, times: 2, effect });
    const statuses: (number | string | null)[] = [];
    for (let time = 0; time < 4; time += 1) {
      const answer = await rest(github, token, 'GET', APP);
      statuses.push(answer.status, answer.headers.get('retry-after'));
    }
    expect(statuses).toEqual([200, null, 429, '1', 429, '1', 200, null]);
    expect(fault.hits()).toBe(2);
  });

  test('a connection dropped before the effect leaves nothing, one dropped after it leaves the comment', async () => {
    const number = await github.people.openIssue('reader', 'acme/app', { title: 'slow' });
    const path = `${APP}/issues/${number}/comments`;
    for (const kind of ['drop-before-effect', 'drop-after-effect'] as const) {
      github.injectFault({ method: 'POST', path, effect: { kind } });
      await expect(rest(github, token, 'POST', path, { body: kind })).rejects.toThrow();
    }
    expect((await github.comments('acme/app', number)).map((comment) => comment.body)).toEqual([
      'drop-after-effect',
    ]);
  });

  test('a hanging request ends when the caller gives up', async () => {
    github.injectFault({ path: APP, effect: { kind: 'hang' } });
    const signal = AbortSignal.timeout(100);
    await expect(fetch(`${github.url}${APP}`, { signal })).rejects.toThrow('timeout');
    expect((await fetch(`${github.url}${APP}`)).status).toBe(200);
  });
});
