// Git over HTTP on the emulated GitHub, with the negative controls that once caught a hole in the rig.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installationToken, rest } from '../support/app-client.js';
import { type EmulatedGitHub, startEmulatedGitHub } from '../support/emulated-github/emulated-github.js';
import { textAt } from '../support/emulated-github/json.js';
import { tokenOf } from '../support/emulated-github/seed.js';

const run = promisify(execFile);
let github: EmulatedGitHub;
let folder: string;
let base: string;
let counter = 0;

beforeAll(async () => {
  github = await startEmulatedGitHub();
  folder = mkdtempSync(join(tmpdir(), 'hasten-rig-clones-'));
  base = await github.createRepository({
    owner: 'acme',
    name: 'app',
    private: true,
    defaultBranch: 'trunk',
    executable: ['bin/run'],
    files: {
      'a.js': '1\n',
      'a/b.txt': 'ü\n',
      'a.b/c': Buffer.from([0, 255, 13, 10]),
      'bin/run': '#!/bin/sh\n',
    },
  });
  await github.createRepository({ owner: 'acme', name: 'open', files: { 'a.js': '1\n' } });
});
afterAll(async () => {
  await github.close();
  rmSync(folder, { recursive: true, force: true });
});

async function git(cwd: string, ...args: string[]): Promise<string> {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'Writer',
    GIT_AUTHOR_EMAIL: 'writer@example.test',
    GIT_COMMITTER_NAME: 'Writer',
    GIT_COMMITTER_EMAIL: 'writer@example.test',
    TZ: 'Asia/Kolkata',
  };
  const { stdout } = await run('git', args, { cwd, env });
  return stdout.trim();
}

async function clone(
  token: string | undefined,
  fullName = 'acme/app',
  ...options: string[]
): Promise<string> {
  counter += 1;
  const target = join(folder, `clone-${counter}`);
  await git(folder, 'clone', '--quiet', ...options, github.cloneUrl(fullName, token), target);
  return target;
}

async function commit(work: string, file: string, content: string, message = 'Change'): Promise<string> {
  writeFileSync(join(work, file), content);
  await git(work, 'add', '--all');
  await git(work, 'commit', '--quiet', '--message', message);
  return git(work, 'rev-parse', 'HEAD');
}

test('an installation clones what was seeded: same commit, bytes and modes, a sound history', async () => {
  const work = await clone(await installationToken(github));
  expect(await git(work, 'rev-parse', 'HEAD')).toBe(base);
  expect(await git(work, 'branch', '--show-current')).toBe('trunk');
  expect(readFileSync(join(work, 'a.b/c'))).toEqual(Buffer.from([0, 255, 13, 10]));
  expect(await git(work, 'ls-files', '--stage', 'bin/run')).toMatch(/^100755 /);
  expect(await git(work, 'fsck', '--strict')).toBe('');
  const shallow = await clone(tokenOf('reader'), 'acme/app', '--depth', '1');
  expect(await git(shallow, 'rev-parse', 'HEAD')).toBe(base);
});

test('a pushed branch appears in the API with the same commit, time zone included, and is a pull request’s head', async () => {
  const work = await clone(tokenOf('writer'));
  await git(work, 'checkout', '--quiet', '-b', 'hasten/push');
  const sha = await commit(work, 'new.txt', 'new\n', 'Ünïcode\n\nBody');
  await git(work, 'push', '--quiet', 'origin', 'hasten/push');
  expect((await github.branches('acme/app')).get('hasten/push')).toBe(sha);
  expect(await github.file('acme/app', 'new.txt', 'hasten/push')).toBe('new\n');
  const pull = { title: 'New', head: 'hasten/push', base: 'trunk' };
  const number = await github.people.openPull('writer', 'acme/app', pull);
  const second = await commit(work, 'new.txt', 'newer\n');
  await git(work, 'push', '--quiet', 'origin', 'hasten/push');
  const path = `/repos/acme/app/pulls/${number}`;
  const seen = await rest(github, tokenOf('reader'), 'GET', path);
  expect(textAt(seen.json, 'head', 'sha')).toBe(second);
});

test('a branch made through the API can be fetched, and is gone when it was deleted there', async () => {
  const work = await clone(tokenOf('reader'));
  await github.people.createBranch('writer', 'acme/app', 'made/by-api', base);
  const change = { path: 'api.txt', content: 'api\n', branch: 'made/by-api' };
  const sha = await github.people.commitFile('writer', 'acme/app', change);
  await git(work, 'fetch', '--quiet', 'origin', 'made/by-api');
  expect(await git(work, 'rev-parse', 'FETCH_HEAD')).toBe(sha);
  await github.people.deleteBranch('writer', 'acme/app', 'made/by-api');
  expect(await git(work, 'ls-remote', 'origin', 'made/by-api')).toBe('');
});

test('a push that is not a fast-forward is refused, a forced one and a deletion are taken', async () => {
  const work = await clone(tokenOf('writer'));
  await git(work, 'checkout', '--quiet', '-b', 'force');
  await commit(work, 'f.txt', 'one\n');
  await git(work, 'push', '--quiet', 'origin', 'force');
  await git(work, 'reset', '--quiet', '--hard', 'HEAD~1');
  const other = await commit(work, 'f.txt', 'two\n');
  await expect(git(work, 'push', '--quiet', 'origin', 'force')).rejects.toThrow('rejected');
  await git(work, 'push', '--quiet', '--force', 'origin', 'force');
  expect((await github.branches('acme/app')).get('force')).toBe(other);
  await git(work, 'push', '--quiet', 'origin', ':force');
  expect((await github.branches('acme/app')).has('force')).toBe(false);
});

test('a push with contents:read is refused with 403 and leaves no branch', async () => {
  const token = await installationToken(github, { permissions: { contents: 'read' } });
  const work = await clone(token);
  await git(work, 'checkout', '--quiet', '-b', 'forbidden');
  await commit(work, 'x.txt', 'x\n');
  await expect(git(work, 'push', 'origin', 'forbidden')).rejects.toThrow('403');
  expect((await github.branches('acme/app')).has('forbidden')).toBe(false);
});

test('a reader may clone but not push', async () => {
  const work = await clone(tokenOf('reader'));
  await git(work, 'checkout', '--quiet', '-b', 'readers');
  await commit(work, 'x.txt', 'x\n');
  await expect(git(work, 'push', 'origin', 'readers')).rejects.toThrow('403');
});

test('a garbage token clones nothing, and sent along it is refused even for a public repository', async () => {
  await expect(clone('ghs_garbage')).rejects.toThrow('Authentication failed');
  const authorization = `Basic ${Buffer.from('x-access-token:ghs_garbage').toString('base64')}`;
  const refs = `${github.url}/acme/open.git/info/refs?service=git-upload-pack`;
  expect((await fetch(refs, { headers: { authorization } })).status).toBe(401);
  expect((await fetch(refs)).status).toBe(200);
});

test('a revoked token clones nothing', async () => {
  const token = await installationToken(github);
  await rest(github, token, 'DELETE', '/installation/token');
  await expect(clone(token)).rejects.toThrow('Authentication failed');
});

test('a missing repository and one outside the token are not found', async () => {
  const token = await installationToken(github, { repositories: ['open'] });
  await expect(clone(token, 'acme/missing')).rejects.toThrow('not found');
  await expect(clone(token, 'acme/app')).rejects.toThrow('not found');
  await expect(clone(tokenOf('stranger'), 'acme/app')).rejects.toThrow('not found');
});

test('nobody clones a private repository, everybody a public one', async () => {
  await expect(clone(undefined)).rejects.toThrow('could not read Username');
  const work = await clone(undefined, 'acme/open');
  expect(readFileSync(join(work, 'a.js'), 'utf8')).toBe('1\n');
});
