// Carries what git has received into emulate: new objects, then the branches, all with the caller's own token.
import { spawn } from 'node:child_process';
import type { EmulateBackend } from './emulate-backend.js';
import type { GitMirror } from './git-mirror.js';
import { type Json, type JsonObject, textAt } from './json.js';

const NO_COMMIT = '0'.repeat(40);

interface ReceivedObject {
  readonly sha: string;
  readonly kind: string;
  readonly content: Buffer;
}

/**
 * Uploads what a push changed in the bare repository. Gives the first refusal of emulate as text, after putting
 * the refused branch back to where it was; undefined when everything was accepted.
 */
export async function uploadPush(
  mirror: GitMirror,
  backend: EmulateBackend,
  fullName: string,
  token: string,
): Promise<string | undefined> {
  const before = mirror.branchesOf(fullName);
  const after = await listBranches(mirror, fullName);
  for (const ref of new Set([...before.keys(), ...after.keys()])) {
    const [old, current] = [before.get(ref), after.get(ref)];
    if (old === current) continue;
    const refusal = await uploadBranch({ mirror, backend, fullName, token }, ref, old, current);
    if (refusal === undefined) {
      mirror.agree(fullName, ref, current);
      continue;
    }
    await mirror.git(fullName, ['update-ref', ref, old ?? NO_COMMIT]);
    return refusal;
  }
  return undefined;
}

/** Uploads a commit of the bare repository and what it needs; no branch moves. Rejects when emulate refuses. */
export async function uploadCommit(
  mirror: GitMirror,
  backend: EmulateBackend,
  fullName: string,
  token: string,
  sha: string,
): Promise<void> {
  await uploadObjects({ mirror, backend, fullName, token }, sha);
}

interface Upload {
  readonly mirror: GitMirror;
  readonly backend: EmulateBackend;
  readonly fullName: string;
  readonly token: string;
}

async function uploadBranch(
  upload: Upload,
  ref: string,
  old: string | undefined,
  current: string | undefined,
): Promise<string | undefined> {
  const shortRef = encodeURI(ref.replace(/^refs\//, ''));
  try {
    if (current === undefined) {
      await send(upload, 'DELETE', `/git/refs/${shortRef}`, undefined);
      return undefined;
    }
    await uploadObjects(upload, current);
    if (old === undefined) await send(upload, 'POST', '/git/refs', { ref, sha: current });
    else await send(upload, 'PATCH', `/git/refs/${shortRef}`, { sha: current, force: true });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function uploadObjects(upload: Upload, head: string): Promise<void> {
  const known = upload.mirror.knownObjects(upload.fullName);
  const listed = await upload.mirror.git(upload.fullName, [
    'rev-list',
    '--objects',
    '--no-object-names',
    '--reverse',
    '--topo-order',
    head,
    '--not',
    ...upload.mirror.branchesOf(upload.fullName).values(),
  ]);
  const missing = listed
    .toString('utf8')
    .split('\n')
    .filter((sha) => sha !== '' && !known.has(sha));
  const objects = await readObjects(upload.mirror.folderOf(upload.fullName), missing);
  const bySha = new Map(objects.map((object) => [object.sha, object]));
  for (const object of objects) if (object.kind === 'blob') await uploadBlob(upload, object);
  for (const object of objects) if (object.kind === 'tree') await uploadTree(upload, object, bySha);
  for (const object of objects) if (object.kind === 'commit') await sendCommit(upload, object);
}

async function uploadBlob(upload: Upload, object: ReceivedObject): Promise<void> {
  const body = { content: object.content.toString('base64'), encoding: 'base64' };
  expectSha(object, await send(upload, 'POST', '/git/blobs', body));
  upload.mirror.knownObjects(upload.fullName).add(object.sha);
}

async function uploadTree(
  upload: Upload,
  object: ReceivedObject,
  bySha: ReadonlyMap<string, ReceivedObject>,
): Promise<void> {
  const known = upload.mirror.knownObjects(upload.fullName);
  if (known.has(object.sha)) return;
  const tree: JsonObject[] = [];
  for (const { mode, name, sha } of decodeTree(object.content)) {
    const type = mode === '40000' ? 'tree' : mode === '160000' ? 'commit' : 'blob';
    const inner = type === 'tree' ? bySha.get(sha) : undefined;
    if (inner !== undefined) await uploadTree(upload, inner, bySha);
    tree.push({ path: name, mode: mode.padStart(6, '0'), type, sha });
  }
  expectSha(object, await send(upload, 'POST', '/git/trees', { tree }));
  known.add(object.sha);
}

async function sendCommit(upload: Upload, object: ReceivedObject): Promise<void> {
  const text = object.content.toString('utf8');
  const border = text.indexOf('\n\n');
  const headers = text.slice(0, border).split('\n');
  const one = (name: string) => headers.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
  const parents = headers.filter((line) => line.startsWith('parent ')).map((line) => line.slice(7));
  const body = {
    message: text.slice(border + 2),
    tree: one('tree') ?? '',
    parents,
    author: decodeIdentity(one('author') ?? ''),
    committer: decodeIdentity(one('committer') ?? ''),
  };
  expectSha(object, await send(upload, 'POST', '/git/commits', body));
  upload.mirror.knownObjects(upload.fullName).add(object.sha);
}

async function send(
  upload: Upload,
  method: string,
  path: string,
  body: Json | undefined,
): Promise<Json | undefined> {
  const { backend, token, fullName } = upload;
  const answer = await backend.call({ method, path: `/repos/${fullName}${path}`, token, body });
  if (answer.status < 300) return answer.json;
  throw new Error(`${method} ${path}: ${answer.status} ${textAt(answer.json, 'message')}`);
}

function expectSha(object: ReceivedObject, answer: Json | undefined): void {
  if (textAt(answer, 'sha') === object.sha) return;
  throw new Error(`git calls this ${object.kind} ${object.sha}, emulate calls it ${textAt(answer, 'sha')}`);
}

async function listBranches(mirror: GitMirror, fullName: string): Promise<Map<string, string>> {
  const format = '--format=%(refname) %(objectname)';
  const listed = await mirror.git(fullName, ['for-each-ref', format, 'refs/heads']);
  const pairs = listed
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const [ref = '', sha = ''] = line.split(' ');
      return [ref, sha];
    });
  return new Map(pairs);
}

/** Reads objects through one `git cat-file --batch`, in the order asked for. */
function readObjects(folder: string, shas: readonly string[]): Promise<ReceivedObject[]> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['cat-file', '--batch'], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(decodeBatch(Buffer.concat(chunks)));
      else reject(new Error(`git cat-file ended with ${code}`));
    });
    child.stdin.end(shas.map((sha) => `${sha}\n`).join(''));
  });
}

function decodeBatch(bytes: Buffer): ReceivedObject[] {
  const objects: ReceivedObject[] = [];
  for (let position = 0; position < bytes.length; ) {
    const lineEnd = bytes.indexOf(0x0a, position);
    const [sha = '', kind = '', size = '0'] = bytes.toString('utf8', position, lineEnd).split(' ');
    const start = lineEnd + 1;
    const end = start + Number(size);
    objects.push({ sha, kind, content: bytes.subarray(start, end) });
    position = end + 1;
  }
  return objects;
}

function decodeTree(content: Buffer): { mode: string; name: string; sha: string }[] {
  const entries: { mode: string; name: string; sha: string }[] = [];
  for (let position = 0; position < content.length; ) {
    const space = content.indexOf(0x20, position);
    const zero = content.indexOf(0x00, space);
    entries.push({
      mode: content.toString('utf8', position, space),
      name: content.toString('utf8', space + 1, zero),
      sha: content.toString('hex', zero + 1, zero + 21),
    });
    position = zero + 21;
  }
  return entries;
}

function decodeIdentity(line: string): JsonObject {
  const match = /^(.*) <(.*)> (\d+) ([+-])(\d{2})(\d{2})$/.exec(line);
  if (match === null) throw new Error(`git identity not understood: ${line}`);
  const [, name = '', email = '', seconds = '0', sign = '+', hours = '00', minutes = '00'] = match;
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  const local = new Date((Number(seconds) + offset * 60) * 1000).toISOString().slice(0, 19);
  return { name, email, date: `${local}${sign}${hours}:${minutes}` };
}
