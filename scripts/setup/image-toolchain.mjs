// @ts-check
// Lays out Node and its package managers, taken from the npm registry by lockfile, as the image's /opt/node.
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { runLogged, SetUpError } from './command.mjs';

/** @typedef {import('./context.mjs').Context} Context */

/** Node versions that stand side by side in the image, by major. */
const NODE_MAJORS = [20];

/** Docker's names for processors and npm's. */
const CPUS = /** @type {Record<string, string>} */ ({
  amd64: 'x64',
  x86_64: 'x64',
  arm64: 'arm64',
  aarch64: 'arm64',
});

/** Commands of the package managers and the script behind each. */
const COMMANDS = {
  npm: 'npm/bin/npm-cli.js',
  npx: 'npm/bin/npx-cli.js',
  pnpm: 'pnpm/bin/pnpm.cjs',
  pnpx: 'pnpm/bin/pnpx.cjs',
  yarn: 'yarn/bin/yarn.js',
  yarnpkg: 'yarn/bin/yarn.js',
};

/**
 * @param {string} architecture as the Docker engine names it
 * @returns {string} as npm names it
 * @throws {SetUpError}
 */
export function npmCpu(architecture) {
  const cpu = CPUS[architecture];
  if (cpu !== undefined) return cpu;
  throw new SetUpError(
    `The Docker engine runs on ${architecture}; the sandbox image can be made for amd64 and arm64.`,
  );
}

/**
 * Fills a folder with `<major>/bin`, `<major>/include` and the package managers.
 * @param {Context} context
 * @param {{ target: string, architecture: string }} options
 * @returns {Promise<void>}
 */
export async function layOutToolchain(context, { target, architecture }) {
  const cpu = npmCpu(architecture);
  const work = join(context.stateDir, 'toolchain');
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) {
    cpSync(join(context.root, 'sandbox', 'toolchain', file), join(work, file));
  }
  // The image is for Linux whatever this machine is; the engine's processor decides, not ours.
  await runLogged(
    ['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--os=linux', `--cpu=${cpu}`],
    {
      what: 'get Node and the package managers for the sandbox image from the npm registry',
      logFile: context.logFile('toolchain'),
      cwd: work,
      timeoutMs: 300_000,
    },
  );
  for (const major of NODE_MAJORS)
    layOutVersion(join(work, 'node_modules'), join(target, String(major)), `node${major}-${cpu}`);
  rmSync(work, { recursive: true, force: true });
}

/**
 * @param {string} modules where npm put the packages
 * @param {string} target the version's folder
 * @param {string} nodePackage
 */
function layOutVersion(modules, target, nodePackage) {
  const bin = join(target, 'bin');
  const library = join(target, 'lib', 'node_modules');
  for (const folder of [bin, library]) mkdirSync(folder, { recursive: true });
  const node = join(modules, nodePackage);
  if (!existsSync(join(node, 'bin', 'node'))) throw new SetUpError(`npm did not install ${nodePackage}.`);
  cpSync(join(node, 'bin', 'node'), join(bin, 'node'));
  // Native packages are compiled without network, against these headers.
  cpSync(join(node, 'include'), join(target, 'include'), { recursive: true });
  for (const name of ['npm', 'pnpm', 'yarn'])
    cpSync(join(modules, name), join(library, name), { recursive: true });
  for (const [command, script] of Object.entries(COMMANDS))
    symlinkSync(`../lib/node_modules/${script}`, join(bin, command));
}
