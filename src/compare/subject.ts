/** Finds out what the user means by a subject: a revision, a folder or a package. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { UserError } from '../domain/errors.js';
import type { Subject, SubjectPlaces } from './compared-subject.js';
import { directorySubject } from './directory.js';
import { gitRevisionSubject, resolveRevision } from './git-revision.js';
import { npmPackageSubject } from './npm-package.js';

const LOOKS_LIKE_PATH = /^(\.{1,2}$|\.{0,2}\/|~)/;

/**
 * `npm:…` is a package; what starts like a path is a directory; else a revision of `--repo`, and where there is none
 * of that name, a directory. Throws UserError that names what was looked for.
 */
export async function resolveSubject(given: string, places: SubjectPlaces): Promise<Subject> {
  if (given.startsWith('npm:')) return npmPackageSubject(given, places);
  const path = resolve(places.cwd, given);
  if (LOOKS_LIKE_PATH.test(given)) {
    if (await isDirectory(path)) return directorySubject(given, path, places);
    throw notFound(`${given} is not a directory`);
  }
  const found = await resolveRevision(given, places);
  if (found !== null) return gitRevisionSubject(given, found);
  if (await isDirectory(path)) return directorySubject(given, path, places);
  throw notFound(
    `${given} is neither a revision of the git repository ${resolve(places.cwd, places.repo)} nor a directory`,
  );
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function notFound(problem: string): UserError {
  return new UserError({
    code: 'SUBJECT_NOT_FOUND',
    message: `compare: ${problem}. Give two git revisions (with --repo DIR for another repository), two directories, or npm:name@version twice.`,
  });
}
