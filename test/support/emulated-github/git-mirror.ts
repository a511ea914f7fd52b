// Bare repositories that git serves: branches are pulled out of emulate before a git request and pushed back after.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { EmulateBackend } from './emulate-backend.js';
import { type CommitIdentity, encodeCommit, encodeTree, storeObject } from './git-objects.js';
import { asObjects, at, type Json, textAt } from './json.js';
import type { Permissions } from './permissions.js';

const run = promisify(execFile);
const LARGEST_OUTPUT = 256 * 1024 * 1024;

export class GitMirror {
  /** Folder that holds `owner/name.git` for each repository. */
  readonly root: string;
  readonly #backend: EmulateBackend;
  readonly #permissions: Permissions;
  readonly #known = new Map<string, Set<string>>();
  readonly #branches = new Map<string, Map<string, string>>();
  readonly #locks = new Map<string, Promise<void>>();

  constructor(root: string, backend: EmulateBackend, permissions: Permissions) {
    this.root = root;
    this.#backend = backend;
    this.#permissions = permissions;
  }

  /** The bare repository's folder. */
  folderOf(fullName: string): string {
    return join(this.root, `${fullName}.git`);
  }

  /** Runs git in the bare repository and gives its output; rejects with git's message. */
  async git(fullName: string, args: readonly string[]): Promise<Buffer> {
    const options = { cwd: this.folderOf(fullName), encoding: 'buffer' as const, maxBuffer: LARGEST_OUTPUT };
    const { stdout } = await run('git', [...args], options);
    return stdout;
  }

  /** Runs one piece of work on a repository after the other. */
  async exclusively<T>(fullName: string, work: () => Promise<T>): Promise<T> {
    const before = this.#locks.get(fullName) ?? Promise.resolve();
    const result = before.then(work);
    this.#locks.set(
      fullName,
      result.then(
        () => undefined,
        () => undefined,
      ),
    );
    return result;
  }

  /** Brings the bare repository to emulate's branches; only branches that moved cost more than one request. */
  async pull(fullName: string): Promise<void> {
    const folder = await this.#ensureRepository(fullName);
    const synced = this.#branches.get(fullName) ?? new Map<string, string>();
    this.#branches.set(fullName, synced);
    const current = new Map<string, string>();
    for (const ref of asObjects(await this.#read(fullName, '/git/matching-refs/heads'))) {
      current.set(textAt(ref, 'ref'), textAt(ref, 'object', 'sha'));
    }
    for (const [ref, sha] of current) {
      if (synced.get(ref) === sha) continue;
      await this.#fetchCommits(fullName, sha);
      await this.git(fullName, ['update-ref', ref, sha]);
      synced.set(ref, sha);
    }
    for (const ref of synced.keys()) {
      if (current.has(ref)) continue;
      await this.git(fullName, ['update-ref', '-d', ref]);
      synced.delete(ref);
    }
    if (!existsSync(join(folder, 'HEAD'))) throw new Error(`no bare repository in ${folder}`);
  }

  /** Branches as of the last pull: `refs/heads/…` to SHA. */
  branchesOf(fullName: string): Map<string, string> {
    return new Map(this.#branches.get(fullName));
  }

  /** Notes that emulate and the bare repository agree on a branch; undefined when it is gone. */
  agree(fullName: string, ref: string, sha: string | undefined): void {
    const synced = this.#branches.get(fullName) ?? new Map<string, string>();
    if (sha === undefined) synced.delete(ref);
    else synced.set(ref, sha);
    this.#branches.set(fullName, synced);
  }

  /** SHAs that both sides have. */
  knownObjects(fullName: string): Set<string> {
    const known = this.#known.get(fullName) ?? new Set<string>();
    this.#known.set(fullName, known);
    return known;
  }

  async #ensureRepository(fullName: string): Promise<string> {
    const folder = this.folderOf(fullName);
    if (existsSync(folder)) return folder;
    const branch = textAt(await this.#read(fullName, ''), 'default_branch') || 'main';
    mkdirSync(dirname(folder), { recursive: true });
    await run('git', ['init', '--quiet', '--bare', `--initial-branch=${branch}`, folder]);
    await this.git(fullName, ['config', 'http.receivepack', 'true']);
    // A force push and the deletion of a branch are emulate's decision, not git's.
    await this.git(fullName, ['config', 'receive.denyDeleteCurrent', 'ignore']);
    writeFileSync(join(folder, 'description'), `${fullName}\n`);
    return folder;
  }

  async #fetchCommits(fullName: string, head: string): Promise<void> {
    const known = this.knownObjects(fullName);
    const waiting = [head];
    const fetched: { sha: string; content: Buffer }[] = [];
    for (let sha = waiting.pop(); sha !== undefined; sha = waiting.pop()) {
      if (known.has(sha)) continue;
      const commit = await this.#read(fullName, `/git/commits/${sha}`);
      const parents = asObjects(at(commit, 'parents')).map((parent) => textAt(parent, 'sha'));
      const tree = textAt(commit, 'tree', 'sha');
      await this.#fetchTree(fullName, tree);
      const content = encodeCommit({
        tree,
        parents,
        author: identity(at(commit, 'author')),
        committer: identity(at(commit, 'committer')),
        message: textAt(commit, 'message'),
      });
      fetched.push({ sha, content });
      known.add(sha);
      waiting.push(...parents);
    }
    for (const { sha, content } of fetched) storeObject(this.folderOf(fullName), 'commit', content, sha);
  }

  async #fetchTree(fullName: string, sha: string): Promise<void> {
    const known = this.knownObjects(fullName);
    if (known.has(sha)) return;
    const tree = await this.#read(fullName, `/git/trees/${sha}`);
    const entries = asObjects(at(tree, 'tree')).map((entry) => ({
      mode: textAt(entry, 'mode'),
      name: textAt(entry, 'path'),
      sha: textAt(entry, 'sha'),
      type: textAt(entry, 'type'),
    }));
    for (const entry of entries) {
      if (entry.type === 'tree') await this.#fetchTree(fullName, entry.sha);
      if (entry.type === 'blob') await this.#fetchBlob(fullName, entry.sha);
    }
    storeObject(this.folderOf(fullName), 'tree', encodeTree(entries), sha);
    known.add(sha);
  }

  async #fetchBlob(fullName: string, sha: string): Promise<void> {
    const known = this.knownObjects(fullName);
    if (known.has(sha)) return;
    const blob = await this.#read(fullName, `/git/blobs/${sha}`);
    storeObject(this.folderOf(fullName), 'blob', Buffer.from(textAt(blob, 'content'), 'base64'), sha);
    known.add(sha);
  }

  async #read(fullName: string, path: string): Promise<Json | undefined> {
    const owner = this.#permissions.ownerOf(fullName.split('/')[0] ?? '');
    const token = this.#backend.internalToken(owner);
    const { status, json } = await this.#backend.call({
      method: 'GET',
      path: `/repos/${fullName}${path}`,
      token,
    });
    if (status !== 200) throw new Error(`emulate answered ${status} to GET /repos/${fullName}${path}`);
    return json;
  }
}

function identity(value: Json | undefined): CommitIdentity {
  return { name: textAt(value, 'name'), email: textAt(value, 'email'), date: textAt(value, 'date') };
}
