// @ts-check
// One hash over files and folders, by which set-up decides whether an image or a build is up to date.
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/**
 * SHA-256 over the paths and contents of files, in an order that does not depend on the file system.
 * Times, owners and modes do not count; a clone has other ones.
 * @param {string} root paths are taken relative to it
 * @param {string[]} entries files or folders below root; one that is missing counts as such
 * @param {{ salt?: string }} [options] further text that the result depends on
 * @returns {string} 64 hex digits
 */
export function contentHash(root, entries, { salt = '' } = {}) {
  const hash = createHash('sha256').update(`${salt}\0`);
  for (const path of entries.flatMap((entry) => filesBelow(join(root, entry))).sort(byCodeUnits)) {
    const content = lstatSync(path).isSymbolicLink() ? Buffer.from(readlinkSync(path)) : readFileSync(path);
    hash.update(`${relative(root, path).split(sep).join('/')}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/**
 * All files below a path, which may be a file itself; folders of installed packages are left out.
 * @param {string} path
 * @returns {string[]}
 */
function filesBelow(path) {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (!stat.isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => name !== 'node_modules')
    .flatMap((name) => filesBelow(join(path, name)));
}

/**
 * @param {string} left
 * @param {string} right
 */
function byCodeUnits(left, right) {
  return left < right ? -1 : left > right ? 1 : 0;
}
