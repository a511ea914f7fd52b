// Whether the emulated GitHub answers as GitHub's published description says, for all that Hasten asks of it.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { appToken, installationToken, rest } from '../support/app-client.js';
import { type EmulatedGitHub, startEmulatedGitHub } from '../support/emulated-github/emulated-github.js';
import { at, type Json, numberAt, textAt } from '../support/emulated-github/json.js';
import { tokenOf } from '../support/emulated-github/seed.js';
import { checkJournal } from '../support/github-contract/journal-check.js';
import { type GitHubContract, loadGitHubContract } from '../support/github-contract/openapi-contract.js';

const R = '/repos/acme/app';
let github: EmulatedGitHub;
let contract: GitHubContract;
let token: string;

beforeAll(async () => {
  contract = loadGitHubContract();
  github = await startEmulatedGitHub();
  await github.createRepository({ owner: 'acme', name: 'app', files: { 'a.js': '1\n', 'd/b.js': 'x\n' } });
  token = await installationToken(github);
});
afterEach(() => github.clearRequests());
afterAll(() => github.close());

/** One call as the installation, which must succeed. */
async function call(method: string, path: string, body?: Json): Promise<Json> {
  const answer = await rest(github, token, method, path, body);
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
  return answer.json ?? null;
}

test('the App’s own endpoints answer as described', async () => {
  const jwt = appToken(github.app, Date.now());
  const installation = `/app/installations/${github.app.installationId}`;
  for (const path of [
    '/app',
    '/app/installations',
    installation,
    `${R}/installation`,
    '/orgs/acme/installation',
  ]) {
    expect((await rest(github, jwt, 'GET', path)).status).toBe(200);
  }
  for (const path of ['/app/hook/config', '/app/hook/deliveries']) {
    expect((await rest(github, jwt, 'GET', path)).status).toBe(200);
  }
  await call('GET', '/installation/repositories');
  await call('GET', '/apps/hasten-rig');
  await call('DELETE', '/installation/token');
  token = await installationToken(github, { repositories: ['app'], permissions: { issues: 'write' } });
  token = await installationToken(github);
  expect(checkJournal(contract, github.requests())).toEqual([]);
});

test('issues, comments, labels and reactions answer as described', async () => {
  const issue = numberAt(
    await call('POST', `${R}/issues`, { title: 'slow', body: '', labels: ['hasten'] }),
    'number',
  );
  const path = `${R}/issues/${issue}`;
  const comment = numberAt(await call('POST', `${path}/comments`, { body: 'one' }), 'id');
  await call('PATCH', `${R}/issues/comments/${comment}`, { body: 'two' });
  for (const list of [`${R}/issues`, path, `${path}/comments`, `${path}/labels`, `${R}/labels`]) {
    await call('GET', list);
  }
  await call('GET', `${R}/issues/comments/${comment}`);
  for (const subject of [path, `${R}/issues/comments/${comment}`]) {
    const reaction = numberAt(await call('POST', `${subject}/reactions`, { content: 'eyes' }), 'id');
    await call('POST', `${subject}/reactions`, { content: 'eyes' });
    await call('GET', `${subject}/reactions`);
    await call('DELETE', `${subject}/reactions/${reaction}`);
  }
  await call('POST', `${path}/labels`, { labels: ['x'] });
  await call('DELETE', `${path}/labels/x`);
  await call('PATCH', path, { state: 'closed', state_reason: 'completed' });
  await call('DELETE', `${R}/issues/comments/${comment}`);
  await call('GET', `/search/issues?q=${encodeURIComponent('repo:acme/app slow')}`);
  await call('GET', `${R}/collaborators/writer/permission`);
  await call('GET', '/users/writer');
  expect((await rest(github, tokenOf('stranger'), 'POST', `${path}/labels`, { labels: ['x'] })).status).toBe(
    403,
  );
  expect(checkJournal(contract, github.requests())).toEqual([]);
});

test('git data, pull requests, checks and statuses answer as described', async () => {
  const base = textAt(await call('GET', `${R}/git/ref/heads/main`), 'object', 'sha');
  const tree = textAt(await call('GET', `${R}/git/commits/${base}`), 'tree', 'sha');
  const blob = textAt(await call('POST', `${R}/git/blobs`, { content: '2\n', encoding: 'utf-8' }), 'sha');
  const entry = { path: 'a.js', mode: '100644', type: 'blob', sha: blob };
  const changed = textAt(await call('POST', `${R}/git/trees`, { base_tree: tree, tree: [entry] }), 'sha');
  const commit = { message: 'Faster', tree: changed, parents: [base] };
  const sha = textAt(await call('POST', `${R}/git/commits`, commit), 'sha');
  await call('POST', `${R}/git/refs`, { ref: 'refs/heads/hasten/r1', sha });
  const pull = await call('POST', `${R}/pulls`, {
    title: 'Faster',
    head: 'hasten/r1',
    base: 'main',
    draft: true,
  });
  const path = `${R}/pulls/${String(at(pull, 'number'))}`;
  await call('PATCH', path, { title: 'Faster still' });
  const check = await call('POST', `${R}/check-runs`, {
    name: 'hasten',
    head_sha: sha,
    status: 'in_progress',
  });
  const output = { title: 'Faster', summary: 'by a lot' };
  const done = { status: 'completed', conclusion: 'success', output };
  await call('PATCH', `${R}/check-runs/${String(at(check, 'id'))}`, done);
  expect(
    (await rest(github, tokenOf('writer'), 'POST', `${R}/statuses/${sha}`, { state: 'success' })).status,
  ).toBe(201);
  const reads = [
    R,
    path,
    `${path}/files`,
    `${path}/commits`,
    `${R}/pulls?state=all`,
    `${R}/issues/${String(at(pull, 'number'))}`,
    `${R}/branches`,
    `${R}/branches/main`,
    `${R}/git/matching-refs/heads/hasten`,
    `${R}/git/blobs/${blob}`,
    `${R}/git/trees/${tree}?recursive=1`,
    `${R}/commits`,
    `${R}/commits/${sha}`,
    `${R}/compare/main...hasten/r1`,
    `${R}/contents/a.js`,
    `${R}/contents/d`,
    `${R}/commits/${sha}/check-runs`,
    `${R}/commits/${sha}/status`,
    `${R}/commits/${sha}/statuses`,
    `${R}/check-runs/${String(at(check, 'id'))}`,
    '/rate_limit',
  ];
  for (const read of reads) await call('GET', read);
  await call('PATCH', `${R}/git/refs/heads/hasten/r1`, { sha, force: false });
  for (const refused of [{ head: 'hasten/r1' }, { head: 'none' }]) {
    const again = { title: 'Again', base: 'main', ...refused };
    expect((await rest(github, token, 'POST', `${R}/pulls`, again)).status).toBe(422);
  }
  await call('DELETE', `${R}/git/refs/heads/hasten/r1`);
  expect(checkJournal(contract, github.requests())).toEqual([]);
});

test('a mistake in a request or an answer is found', () => {
  const issue = { method: 'POST', path: `${R}/issues`, status: 201 };
  const problems = (requestBody: Json, responseBody: Json) =>
    contract.check({ ...issue, requestBody, responseBody }).flatMap((entry) => entry.problems);
  expect(problems({ titel: 'x' }, {})).toEqual(
    expect.arrayContaining([
      '/titel is not a field of this request',
      "/ must have required property 'title'",
    ]),
  );
  expect(problems({ title: 'x', labels: 5 }, {})).toContain('/labels must be array');
  expect(problems({ title: 'x' }, { number: 'one' })).toContain('/number must be integer');
  const odd = contract.check({ method: 'GET', path: '/repos/acme/app/nonsense', status: 200 });
  expect(odd[0]?.problems[0]).toContain('no such operation');
  expect(contract.check({ ...issue, requestBody: { title: 'x' }, status: 299 })[0]?.problems).toEqual([
    'status 299 is not described',
  ]);
});

test('a known invalid answer that changes is reported', async () => {
  await rest(github, appToken(github.app, Date.now()), 'GET', '/app/installations');
  const [entry] = github.requests();
  if (entry === undefined) throw new Error('the journal has lost the request');
  expect(entry).toMatchObject({ method: 'GET', path: '/app/installations', status: 200 });
  expect(checkJournal(contract, [entry])).toEqual([]);
  expect(checkJournal(contract, [{ ...entry, responseBody: [] }])[0]?.problems).toEqual([
    'the known problems of this answer are gone',
  ]);
  expect(checkJournal(contract, [{ ...entry, responseBody: [{}] }])).not.toEqual([]);
});
