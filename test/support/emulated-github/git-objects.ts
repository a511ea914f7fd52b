// Git's object format: hashes and stores blobs, trees and commits without starting git for each of them.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';

export type ObjectKind = 'blob' | 'tree' | 'commit';

export interface TreeEntry {
  /** Octal mode with or without leading zero, such as `100644` or `040000`. */
  readonly mode: string;
  readonly name: string;
  readonly sha: string;
}

export interface CommitIdentity {
  readonly name: string;
  readonly email: string;
  /** ISO 8601, with the offset that the commit carries. */
  readonly date: string;
}

export interface CommitContent {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: CommitIdentity;
  readonly committer: CommitIdentity;
  readonly message: string;
}

/** Bytes of a tree object; entries are put into git's order. */
export function encodeTree(entries: readonly TreeEntry[]): Buffer {
  const ordered = entries
    .map((entry) => ({ ...entry, mode: entry.mode.replace(/^0+/, '') }))
    .map((entry) => ({ entry, key: Buffer.from(entry.mode === '40000' ? `${entry.name}/` : entry.name) }))
    .sort((left, right) => Buffer.compare(left.key, right.key));
  return Buffer.concat(
    ordered.flatMap(({ entry }) => [
      Buffer.from(`${entry.mode} ${entry.name}\0`, 'utf8'),
      Buffer.from(entry.sha, 'hex'),
    ]),
  );
}

/** Bytes of a commit object; the message gets the final newline that emulate hashes too. */
export function encodeCommit(commit: CommitContent): Buffer {
  const lines = [
    `tree ${commit.tree}`,
    ...commit.parents.map((parent) => `parent ${parent}`),
    `author ${encodeIdentity(commit.author)}`,
    `committer ${encodeIdentity(commit.committer)}`,
  ];
  const message = commit.message.endsWith('\n') ? commit.message : `${commit.message}\n`;
  return Buffer.from(`${lines.join('\n')}\n\n${message}`, 'utf8');
}

function encodeIdentity(identity: CommitIdentity): string {
  const seconds = Math.floor(Date.parse(identity.date) / 1000);
  const zone = /([+-]\d{2}):?(\d{2})$/.exec(identity.date);
  return `${identity.name} <${identity.email}> ${seconds} ${zone ? `${zone[1]}${zone[2]}` : '+0000'}`;
}

/** The SHA-1 that git gives an object. */
export function objectSha(kind: ObjectKind, content: Buffer): string {
  return createHash('sha1').update(`${kind} ${content.length}\0`).update(content).digest('hex');
}

/**
 * Stores an object in a bare repository as a loose file. Throws when the content does not hash to the expected
 * SHA: emulate and git would then disagree about history.
 */
export function storeObject(
  repository: string,
  kind: ObjectKind,
  content: Buffer,
  expectedSha: string,
): void {
  const sha = objectSha(kind, content);
  if (sha !== expectedSha) {
    throw new Error(`emulate calls this ${kind} ${expectedSha}, git calls it ${sha}`);
  }
  const folder = join(repository, 'objects', sha.slice(0, 2));
  const file = join(folder, sha.slice(2));
  if (existsSync(file)) return;
  mkdirSync(folder, { recursive: true });
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, deflateSync(Buffer.concat([Buffer.from(`${kind} ${content.length}\0`), content])));
  renameSync(partial, file);
}
