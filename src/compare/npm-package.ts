/** A published package as one side of a comparison: a small project that depends on it, with a lockfile. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { UserError } from '../domain/errors.js';
import type { Subject, SubjectPlaces } from './compared-subject.js';
import { commitFiles } from './directory.js';

const run = promisify(execFile);
const NPM_TIMEOUT_MS = 120_000;
const SPEC = /^npm:((?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*)@([^\s@:/]{1,100})$/i;

export interface PackageSpec {
  readonly name: string;
  /** An exact version, a range or a tag. */
  readonly version: string;
}

/** Reads `npm:name@version`. Throws UserError `PACKAGE_SPEC`. */
export function parsePackageSpec(given: string): PackageSpec {
  const [, name, version] = SPEC.exec(given) ?? [];
  if (name !== undefined && version !== undefined) return { name, version };
  throw new UserError({
    code: 'PACKAGE_SPEC',
    message: `compare: ${JSON.stringify(given)} is no package with a version; expected npm:name@version, such as npm:cookie@0.4.2 or npm:@scope/name@1.0.0.`,
  });
}

/** Asks the machine's registry through npm for the versions alone; no code of a package runs here. Throws UserError `PACKAGE_NOT_FOUND`. */
export async function npmPackageSubject(given: string, places: SubjectPlaces): Promise<Subject> {
  const { name, version } = parsePackageSpec(given);
  const directory = await mkdtemp(join(places.temporary, 'package-'));
  const manifest = { name: 'compared', version: '0.0.0', private: true, dependencies: { [name]: version } };
  await writeFile(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await writeLockfile(given, directory, places);
  const exact = await lockedVersion(directory, name);
  const { repository, commit } = await commitFiles(directory, ['package.json', 'package-lock.json'], places);
  return {
    given,
    identity: `npm:${name}@${exact}`,
    repository: {
      id: `npm-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`,
      owner: 'npm',
      name,
      installationId: null,
      defaultBranch: 'main',
      cloneUrl: repository,
    },
    commit,
    root: null,
    packageName: name,
  };
}

async function writeLockfile(given: string, directory: string, places: SubjectPlaces): Promise<void> {
  const registry = places.registryUrl === null ? [] : [`--registry=${places.registryUrl}`];
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const argv = ['install', '--package-lock-only', '--omit-lockfile-registry-resolved', ...quiet, ...registry];
  try {
    await run('npm', argv, { cwd: directory, timeout: NPM_TIMEOUT_MS, signal: places.signal });
  } catch (cause) {
    places.signal.throwIfAborted();
    throw new UserError({
      code: 'PACKAGE_NOT_FOUND',
      message: `compare: npm could not resolve ${given}: ${npmWords(cause)}`,
      cause,
    });
  }
}

/** npm's own sentences, without the paths of its logs. */
function npmWords(cause: unknown): string {
  const stderr = cause instanceof Error && 'stderr' in cause ? String(cause.stderr) : '';
  const lines = stderr
    .split('\n')
    .map((line) => line.replace(/^npm (error|ERR!) (notarget |404 )*/, '').trim())
    .filter((line) => line !== '' && !/complete log|_logs|^code /.test(line));
  return lines.slice(0, 2).join(' ') || (cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : '');
}

const lockSchema = z.looseObject({
  packages: z.record(z.string(), z.looseObject({ version: z.string().optional() })),
});

async function lockedVersion(directory: string, name: string): Promise<string> {
  const lock = lockSchema.parse(JSON.parse(await readFile(join(directory, 'package-lock.json'), 'utf8')));
  return lock.packages[`node_modules/${name}`]?.version ?? 'unknown';
}
