/** Decides how dependencies are installed and under which key the result is kept: pure, from the listing of a tree. */
import { createHash } from 'node:crypto';
import { UserError } from '../domain/errors.js';
import type { TreeEntry } from '../domain/repository.js';
import type { InstallSpec } from '../domain/sandbox.js';
import { type LockfileFacts, readNpmLockfile, readPnpmLockfile, readYarnLockfile } from './lockfile.js';

export interface DependencyPlan {
  /** sha256 hex over everything that can change the result. */
  readonly key: string;
  readonly packageManager: 'npm' | 'pnpm' | 'yarn';
  /** Fetches, with scripts off unless the settings' own command says otherwise. */
  readonly install: readonly string[];
  /** Runs install scripts without network, or null when no package has any. */
  readonly rebuild: readonly string[] | null;
  readonly allowed: ReadonlySet<string> | null;
  /** Milliseconds for each of the two; null for the adapter's limit. */
  readonly timeoutMs: number | null;
}

export interface DependencyQuestion {
  readonly repositoryId: string;
  readonly imageId: string;
  readonly install: InstallSpec;
  readonly files: readonly TreeEntry[];
  /** Content of a file of the tree, or null. */
  readonly read: (path: string) => Promise<Buffer | null>;
}

const DECIDING_NAMES = new Set([
  'package.json',
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  '.pnpmfile.cjs',
  'pnpmfile.js',
  'yarn.lock',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
]);
const DECIDING_DIRECTORIES = /(^|\/)(\.yarn|patches)\//;

/** Yarn 1 asks the host that its lockfile names; this points it at the mirror. The lockfile in the layer is thrown away. */
const YARN_THROUGH_MIRROR = `sed -i -E \
-e 's#^(  resolved ")https?://[^"]*/(@[^/"]+/[^/"]+/-/[^/"]+\\.tgz)#\\1http://127.0.0.1:3128/\\2#;t' \
-e 's#^(  resolved ")https?://[^"]*/([^/"]+/-/[^/"]+\\.tgz)#\\1http://127.0.0.1:3128/\\2#' yarn.lock && exec "$@"`;

/** Null when there is nothing to install. Throws UserError `INSTALL_FAILED` when the lockfile is missing or not supported. */
export async function planDependencies(question: DependencyQuestion): Promise<DependencyPlan | null> {
  const { packageManager, command } = question.install;
  if (packageManager === 'none') return null;
  const facts = await readFacts(question, packageManager);
  if (command === null && !facts.hasDependencies) return null;
  return {
    key: dependencyKey(question, packageManager),
    packageManager,
    install: installArgv(packageManager, command),
    rebuild: command === null && facts.hasInstallScripts ? rebuildArgv(packageManager) : null,
    allowed: facts.packages,
    timeoutMs: question.install.timeoutMs ?? null,
  };
}

async function readFacts(
  question: DependencyQuestion,
  packageManager: DependencyPlan['packageManager'],
): Promise<LockfileFacts> {
  const names = {
    npm: ['npm-shrinkwrap.json', 'package-lock.json'],
    pnpm: ['pnpm-lock.yaml'],
    yarn: ['yarn.lock'],
  };
  for (const name of names[packageManager]) {
    const content = await question.read(name);
    if (content === null) continue;
    const text = content.toString('utf8');
    if (packageManager === 'npm') return readNpmLockfile(text);
    if (packageManager === 'pnpm') return readPnpmLockfile(text);
    const facts = readYarnLockfile(text);
    if (facts.berry && question.install.command === null) throw berryUnsupported();
    return facts;
  }
  // A command of the settings may need no lockfile, so it decides by itself what to install.
  if (question.install.command !== null)
    return { packages: null, hasDependencies: true, hasInstallScripts: false };
  throw new UserError({
    code: 'INSTALL_FAILED',
    message:
      `${packageManager} installs from ${names[packageManager].join(' or ')}, and the repository has none; ` +
      'commit a lockfile, or set `install` in .github/hasten.yml',
  });
}

/** A command of the settings may read any file, so that every file counts then. */
function dependencyKey(question: DependencyQuestion, packageManager: string): string {
  const all = question.install.command !== null;
  const hash = createHash('sha256');
  hash.update(
    JSON.stringify(['v1', question.repositoryId, question.imageId, packageManager, question.install.command]),
  );
  for (const file of question.files) {
    if (all || canChangeInstall(file.path)) hash.update(JSON.stringify([file.path, file.mode, file.sha]));
  }
  return hash.digest('hex');
}

/** Whether a change of this file can change what an install makes. */
export function canChangeInstall(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return DECIDING_NAMES.has(name) || DECIDING_DIRECTORIES.test(path);
}

function installArgv(
  packageManager: DependencyPlan['packageManager'],
  command: string | null,
): readonly string[] {
  const defaults = {
    npm: ['npm', 'ci', '--ignore-scripts'],
    pnpm: ['pnpm', 'install', '--frozen-lockfile', '--ignore-scripts'],
    yarn: ['yarn', 'install', '--frozen-lockfile', '--ignore-scripts', '--non-interactive'],
  };
  const install = command === null ? defaults[packageManager] : ['sh', '-c', command];
  return packageManager === 'yarn' ? ['sh', '-c', YARN_THROUGH_MIRROR, 'sh', ...install] : install;
}

/** Yarn 1 has no rebuild of its own; npm's works on any `node_modules`. */
function rebuildArgv(packageManager: DependencyPlan['packageManager']): readonly string[] {
  return packageManager === 'pnpm' ? ['pnpm', 'rebuild', '--recursive'] : ['npm', 'rebuild'];
}

function berryUnsupported(): UserError {
  return new UserError({
    code: 'INSTALL_FAILED',
    message:
      'yarn.lock is of yarn 2 or newer, and Hasten installs with yarn 1; set `install` in .github/hasten.yml to a command ' +
      'that installs into node_modules',
  });
}
