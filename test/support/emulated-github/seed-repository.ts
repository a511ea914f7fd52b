// Puts a whole repository into the emulated GitHub in a few requests, and into the bare repository beside it.
import type { Front } from './front.js';
import { encodeCommit, encodeTree, objectSha, storeObject } from './git-objects.js';
import { type Json, type JsonObject, textAt } from './json.js';
import { type CollaboratorLevel, tokenOf } from './seed.js';

export interface NewRepository {
  /** Login of a seeded organisation or person. */
  readonly owner: string;
  readonly name: string;
  readonly private?: boolean;
  readonly description?: string;
  /** Contents by path; a path may be given as executable. An empty object makes an empty repository. */
  readonly files: Readonly<Record<string, string | Buffer>>;
  /** Paths of `files` that are executable. */
  readonly executable?: readonly string[];
  /** `main` when left out. */
  readonly defaultBranch?: string;
  /** Replaces the seed's collaborators. */
  readonly collaborators?: Readonly<Record<string, CollaboratorLevel>>;
  readonly message?: string;
}

interface Folder {
  readonly files: Map<string, { mode: string; content: Buffer }>;
  readonly folders: Map<string, Folder>;
}

/** Makes the repository; gives the SHA of its first commit, or an empty string when it has no files. */
export async function seedRepository(front: Front, repository: NewRepository): Promise<string> {
  const { owner, name } = repository;
  const fullName = `${owner}/${name}`;
  await createEmpty(front, repository);
  for (const [login, level] of Object.entries(repository.collaborators ?? front.seed.collaborators)) {
    if (login === owner) continue;
    await must(front, 'PUT', `/repos/${fullName}/collaborators/${login}`, { permission: level });
    front.permissions.grant(fullName, login, level);
  }
  if (Object.keys(repository.files).length === 0) return '';
  await front.mirror.exclusively(fullName, () => front.mirror.pull(fullName));
  const tree = await uploadFolder(front, fullName, foldersOf(repository));
  return commitTree(front, repository, tree);
}

async function createEmpty(front: Front, repository: NewRepository): Promise<void> {
  const { owner, name } = repository;
  const isOrganization = front.seed.organizations.some((entry) => entry.login === owner);
  const token = tokenOf(front.permissions.ownerOf(owner));
  const body = {
    name,
    private: repository.private ?? false,
    ...(repository.description === undefined ? {} : { description: repository.description }),
  };
  const path = isOrganization ? `/orgs/${owner}/repos` : '/user/repos';
  const { status, json } = await front.backend.call({ method: 'POST', path, token, body });
  if (status !== 201)
    throw new Error(`emulate made no repository ${owner}/${name}: ${textAt(json, 'message')}`);
  front.repositories.push(`${owner}/${name}`);
  const branch = repository.defaultBranch ?? 'main';
  if (branch !== 'main') await must(front, 'PATCH', `/repos/${owner}/${name}`, { default_branch: branch });
}

function foldersOf(repository: NewRepository): Folder {
  const root: Folder = { files: new Map(), folders: new Map() };
  const executable = new Set(repository.executable ?? []);
  for (const [path, content] of Object.entries(repository.files)) {
    const parts = path.split('/');
    const name = parts.pop() ?? '';
    let folder = root;
    for (const part of parts) {
      const inner = folder.folders.get(part) ?? { files: new Map(), folders: new Map() };
      folder.folders.set(part, inner);
      folder = inner;
    }
    const mode = executable.has(path) ? '100755' : '100644';
    folder.files.set(name, {
      mode,
      content: Buffer.isBuffer(content) ? content : Buffer.from(content, 'utf8'),
    });
  }
  return root;
}

/** Uploads a folder from the inside out; text goes inside the tree request, other files as blobs. */
async function uploadFolder(front: Front, fullName: string, folder: Folder): Promise<string> {
  const store = front.mirror.folderOf(fullName);
  const known = front.mirror.knownObjects(fullName);
  const request: JsonObject[] = [];
  const entries: { mode: string; name: string; sha: string }[] = [];
  for (const [name, inner] of folder.folders) {
    const sha = await uploadFolder(front, fullName, inner);
    request.push({ path: name, mode: '040000', type: 'tree', sha });
    entries.push({ mode: '40000', name, sha });
  }
  for (const [name, { mode, content }] of folder.files) {
    const sha = objectSha('blob', content);
    const text = content.toString('utf8');
    const isText = Buffer.from(text, 'utf8').equals(content);
    if (!isText) {
      const body = { content: content.toString('base64'), encoding: 'base64' };
      await must(front, 'POST', `/repos/${fullName}/git/blobs`, body);
    }
    request.push({ path: name, mode, type: 'blob', ...(isText ? { content: text } : { sha }) });
    entries.push({ mode, name, sha });
    storeObject(store, 'blob', content, sha);
    known.add(sha);
  }
  const answer = await must(front, 'POST', `/repos/${fullName}/git/trees`, { tree: request });
  const sha = textAt(answer, 'sha');
  storeObject(store, 'tree', encodeTree(entries), sha);
  known.add(sha);
  return sha;
}

async function commitTree(front: Front, repository: NewRepository, tree: string): Promise<string> {
  const fullName = `${repository.owner}/${repository.name}`;
  const message = repository.message ?? 'Start';
  const login = front.permissions.ownerOf(repository.owner);
  const date = `${new Date().toISOString().slice(0, 19)}Z`;
  const author = { name: login, email: `${login}@example.test`, date };
  const body = { message, tree, parents: [], author, committer: author };
  const sha = textAt(await must(front, 'POST', `/repos/${fullName}/git/commits`, body), 'sha');
  const content = encodeCommit({ tree, parents: [], author, committer: author, message });
  storeObject(front.mirror.folderOf(fullName), 'commit', content, sha);
  front.mirror.knownObjects(fullName).add(sha);
  const ref = `refs/heads/${repository.defaultBranch ?? 'main'}`;
  await must(front, 'POST', `/repos/${fullName}/git/refs`, { ref, sha });
  return sha;
}

async function must(front: Front, method: string, path: string, body: Json): Promise<Json | undefined> {
  const { status, json } = await front.ask(method, path, body);
  if (status < 300) return json;
  throw new Error(`${method} ${path}: emulate answered ${status} ${textAt(json, 'message')}`);
}
