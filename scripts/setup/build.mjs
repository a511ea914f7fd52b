// @ts-check
// Compiles the sources into dist/ when they are not what dist/ was compiled from.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runLogged } from './command.mjs';
import { contentHash } from './content-hash.mjs';
import { withLock } from './lock.mjs';

/** @typedef {import('./context.mjs').Context} Context */

const INPUTS = ['src', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
const BUILD_LIMIT_MS = 180_000;

/**
 * @param {Context} context
 * @returns {Promise<{ built: boolean }>} whether a compilation was needed
 * @throws {import('./command.mjs').SetUpError} with the compiler's last lines
 */
export async function buildWhenStale(context) {
  if (!isStale(context)) return { built: false };
  return withLock(join(context.stateDir, 'build.lock'), async () => {
    if (!isStale(context)) return { built: false };
    const hash = sourceHash(context.root);
    context.log('build: compiling src into dist');
    const next = join(context.root, 'dist.next');
    rmSync(next, { recursive: true, force: true });
    await runLogged(
      [
        process.execPath,
        join(context.root, 'node_modules', 'typescript', 'bin', 'tsc'),
        '-p',
        'tsconfig.build.json',
        '--incremental',
        'false',
        '--tsBuildInfoFile',
        'null',
        '--outDir',
        next,
      ],
      {
        what: 'compile the sources',
        logFile: context.logFile('build'),
        cwd: context.root,
        timeoutMs: BUILD_LIMIT_MS,
      },
    );
    replaceDist(context.root, next);
    mkdirSync(dirname(stampFile(context)), { recursive: true });
    writeFileSync(stampFile(context), hash);
    return { built: true };
  });
}

/**
 * Puts the finished build in place: a service that starts meanwhile finds the old one or the new one, never half of it.
 * @param {string} root
 * @param {string} next
 */
function replaceDist(root, next) {
  const dist = join(root, 'dist');
  const old = join(root, 'dist.old');
  rmSync(old, { recursive: true, force: true });
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(next, dist);
  rmSync(old, { recursive: true, force: true });
}

/** @param {Context} context */
function isStale(context) {
  if (!existsSync(join(context.root, 'dist'))) return true;
  try {
    return readFileSync(stampFile(context), 'utf8') !== sourceHash(context.root);
  } catch {
    return true;
  }
}

/** @param {string} root */
function sourceHash(root) {
  return contentHash(root, INPUTS, { salt: process.version });
}

/** @param {Context} context */
function stampFile(context) {
  return join(context.stateDir, 'build.stamp');
}
