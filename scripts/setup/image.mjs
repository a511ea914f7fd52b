// @ts-check
// Builds the sandbox image when the engine does not have the one that belongs to this checkout's sandbox folder.
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { capture, isOnPath, runLogged, SetUpError } from './command.mjs';
import { contentHash } from './content-hash.mjs';
import { ensureBase, PULLED_BASE } from './image-base.mjs';
import { layOutToolchain } from './image-toolchain.mjs';
import { withLock } from './lock.mjs';

/** @typedef {import('./context.mjs').Context} Context */

/**
 * @typedef {object} SandboxImage
 * @property {string} tag `hasten-sandbox:<12 hex digits>`, of this checkout
 * @property {string} id the engine's image id, `sha256:…`
 * @property {'present' | 'built'} how
 */

/**
 * @typedef {object} ImageNames
 * @property {string} hash 64 hex digits over everything in the image; the label `hasten.sandbox`
 * @property {string} toolchainHash the same without Hasten's own top layer; the label `hasten.toolchain`, and the
 *   part that an installed dependency can depend on
 * @property {string} tag
 * @property {string} latest the name that the service uses unless told another
 * @property {string} toolchainTag the image below the top layer
 */

const TOOLCHAIN_FILES = ['Dockerfile', 'toolchain'];
const TOP_FILES = ['harness.Dockerfile', 'egress-shim.mjs', 'harness'];
const BUILD_LIMIT_MS = 900_000;

/**
 * The names of the image that belongs to a checkout; they follow from the contents of its sandbox folder.
 * @param {string} root the checkout
 * @returns {ImageNames}
 */
export function sandboxImageNames(root) {
  const sandbox = join(root, 'sandbox');
  const toolchainHash = contentHash(sandbox, TOOLCHAIN_FILES, { salt: PULLED_BASE });
  const hash = contentHash(sandbox, TOP_FILES, { salt: toolchainHash });
  return {
    hash,
    toolchainHash,
    tag: `hasten-sandbox:${hash.slice(0, 12)}`,
    latest: 'hasten-sandbox:latest',
    toolchainTag: `hasten-sandbox-toolchain:${toolchainHash.slice(0, 12)}`,
  };
}

/**
 * Makes sure that the engine has this checkout's sandbox image, under its own tag and under `latest`.
 * @param {Context} context
 * @param {{ dockerHost: string }} engine
 * @returns {Promise<SandboxImage>}
 * @throws {SetUpError}
 */
export async function ensureImage(context, { dockerHost }) {
  if (!isOnPath('docker')) {
    throw new SetUpError(
      'A Docker engine answers but the command docker is missing: install it (on Debian: apt-get install docker.io).',
    );
  }
  const env = { ...process.env, DOCKER_HOST: dockerHost };
  const present = await findImage(context.root, env);
  if (present !== undefined) return present;
  return withLock(join(context.stateDir, 'image.lock'), () => buildImage(context, env), {
    onWait: (owner) => context.log(`image: another set-up (process ${owner?.pid}) is building it, waiting`),
  });
}

/**
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<SandboxImage | undefined>}
 */
async function findImage(root, env) {
  const { tag, latest } = sandboxImageNames(root);
  const id = await imageId(tag, env);
  if (id === undefined) return undefined;
  if ((await imageId(latest, env)) !== id) await capture(['docker', 'tag', tag, latest], { env });
  return { tag, id, how: 'present' };
}

/**
 * @param {Context} context
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<SandboxImage>}
 */
async function buildImage(context, env) {
  const present = await findImage(context.root, env);
  if (present !== undefined) return present;
  const names = sandboxImageNames(context.root);
  if ((await imageId(names.toolchainTag, env)) === undefined) await buildToolchain(context, names, env);
  context.log(`image: building ${names.tag}`);
  const sandbox = join(context.root, 'sandbox');
  mkdirSync(join(sandbox, 'harness'), { recursive: true });
  await dockerBuild(context, {
    step: 'image',
    argv: ['--file', join(sandbox, 'harness.Dockerfile'), '--build-arg', `BASE=${names.toolchainTag}`]
      .concat('--label', `hasten.sandbox=${names.hash}`, '--label', `hasten.toolchain=${names.toolchainHash}`)
      .concat('--tag', names.tag, '--tag', names.latest, sandbox),
    env,
  });
  const id = await imageId(names.tag, env);
  // The old builder reports some failures in its stream only, so the tag is what counts.
  if (id === undefined)
    throw new SetUpError(
      `docker build ended without the image ${names.tag}; see ${context.logFile('image')}.`,
    );
  return { tag: names.tag, id, how: 'built' };
}

/**
 * @param {Context} context
 * @param {ImageNames} names
 * @param {NodeJS.ProcessEnv} env
 */
async function buildToolchain(context, names, env) {
  const base = await ensureBase(context, env);
  const folder = join(context.stateDir, 'image-context');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(context.root, 'sandbox', 'Dockerfile'), join(folder, 'Dockerfile'));
  const { stdout } = await capture(['docker', 'version', '--format', '{{.Server.Arch}}'], { env });
  await layOutToolchain(context, { target: join(folder, 'toolchain'), architecture: stdout.trim() });
  context.log(`image: building the toolchain on ${base} (about a minute)`);
  await dockerBuild(context, {
    step: 'image-toolchain',
    argv: ['--build-arg', `BASE=${base}`, '--tag', names.toolchainTag, folder],
    env,
  });
  rmSync(folder, { recursive: true, force: true });
}

/**
 * @param {Context} context
 * @param {{ step: string, argv: string[], env: NodeJS.ProcessEnv }} options
 */
async function dockerBuild(context, { step, argv, env }) {
  const buildx = (await capture(['docker', 'buildx', 'version'], { env })).code === 0;
  const network = (await hasBridge(env)) ? [] : ['--network=host'];
  await runLogged(['docker', 'build', ...network, ...argv], {
    what: 'build the sandbox image',
    logFile: context.logFile(step),
    // Asking for the newer builder where its component is missing is an error, not a fallback.
    env: buildx ? env : { ...env, DOCKER_BUILDKIT: '0' },
    timeoutMs: BUILD_LIMIT_MS,
  });
}

/**
 * An engine that was started without a bridge builds in the host's network.
 * @param {NodeJS.ProcessEnv} env
 */
async function hasBridge(env) {
  const listed = await capture(['docker', 'network', 'ls', '--filter', 'driver=bridge', '--quiet'], { env });
  return listed.stdout.trim() !== '';
}

/**
 * @param {string} name
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | undefined>}
 */
async function imageId(name, env) {
  const { code, stdout } = await capture(['docker', 'image', 'inspect', '--format', '{{.Id}}', name], {
    env,
  });
  return code === 0 ? stdout.trim() : undefined;
}
