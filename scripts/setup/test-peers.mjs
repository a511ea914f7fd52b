// @ts-check
// Installs the real alert source that an end-to-end test runs: Prometheus and Alertmanager.
import { isOnPath } from './command.mjs';
import { installPackages } from './debian.mjs';

/** @typedef {import('./context.mjs').Context} Context */

const PROGRAMS = ['prometheus', 'prometheus-alertmanager'];

/**
 * @param {Context} context
 * @returns {Promise<{ installed: boolean }>}
 * @throws {import('./command.mjs').SetUpError}
 */
export async function ensureTestPeers(context) {
  if (PROGRAMS.every((program) => isOnPath(program))) return { installed: false };
  await installPackages(context, {
    packages: PROGRAMS,
    purpose: 'the end-to-end test of alerts',
    step: 'test-peers',
    otherwise:
      'The end-to-end test of alerts runs Prometheus and Alertmanager: install the programs prometheus and prometheus-alertmanager.',
  });
  return { installed: true };
}
