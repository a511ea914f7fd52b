// @ts-check
// Does all set-up that the demo, the tests and the service need; what is there already is skipped.
import { buildWhenStale } from './build.mjs';
import { createContext } from './context.mjs';
import { ensureDependencies } from './dependencies.mjs';
import { ensureEngine } from './engine.mjs';
import { ensureImage } from './image.mjs';
import { ensureTestPeers } from './test-peers.mjs';

/** @typedef {import('./context.mjs').Context} Context */
/** @typedef {'deps' | 'build' | 'engine' | 'image' | 'test-peers'} Step */

/** All steps by name. */
export const STEPS = /** @type {const} */ (['deps', 'build', 'engine', 'image', 'test-peers']);
/** What the product itself needs. */
export const PRODUCT_STEPS = /** @type {Step[]} */ (['deps', 'build', 'engine', 'image']);

/**
 * @typedef {object} SetUpResult
 * @property {number} seconds
 * @property {import('./engine.mjs').Engine} [engine]
 * @property {import('./image.mjs').SandboxImage} [image]
 */

/**
 * Runs the steps, those that do not need one another side by side.
 * @param {{ log?: (line: string) => void, steps?: readonly Step[], yes?: boolean, root?: string }} [options]
 *   `log` takes one line at a time (standard error unless told); `yes` answers all questions
 * @returns {Promise<SetUpResult>}
 * @throws {import('./command.mjs').SetUpError} with one clear sentence for the person who waits
 */
export async function setUp({ log, steps = PRODUCT_STEPS, yes, root } = {}) {
  const started = performance.now();
  const context = createContext({ log, yes, root });
  const wants = (/** @type {Step} */ step) => steps.includes(step);
  const lanes = [
    packagesAndBuild(context, wants),
    engineAndImage(context, wants),
    wants('test-peers') && ensureTestPeers(context),
  ];
  // All lanes end before the first failure is told: none is left writing behind the caller's back.
  const outcomes = await Promise.allSettled(lanes);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  const docker = outcomes[1]?.status === 'fulfilled' ? outcomes[1].value : {};
  return { seconds: (performance.now() - started) / 1000, ...(typeof docker === 'object' ? docker : {}) };
}

/**
 * @param {Context} context
 * @param {(step: Step) => boolean} wants
 */
async function packagesAndBuild(context, wants) {
  if (wants('deps')) await ensureDependencies(context);
  if (wants('build')) await buildWhenStale(context);
}

/**
 * @param {Context} context
 * @param {(step: Step) => boolean} wants
 * @returns {Promise<{ engine?: import('./engine.mjs').Engine, image?: import('./image.mjs').SandboxImage }>}
 */
async function engineAndImage(context, wants) {
  if (!wants('engine') && !wants('image')) return {};
  const engine = await ensureEngine(context);
  if (!wants('image')) return { engine };
  return { engine, image: await ensureImage(context, engine) };
}
