// @ts-check
// What every step of set-up is given: where the checkout is, where to write, whom to tell and whom to ask.
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} Context
 * @property {string} root the checkout
 * @property {string} stateDir `.hasten` in the checkout: logs, stamps, locks; not in git
 * @property {(line: string) => void} log one finished line for the person who waits
 * @property {(question: string) => Promise<boolean>} confirm true without asking unless a terminal is there
 * @property {(step: string) => string} logFile where a step's long output goes
 */

/** The checkout that this script belongs to. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

/**
 * @param {{ root?: string | undefined, log?: ((line: string) => void) | undefined, yes?: boolean | undefined }} [options] `yes` answers all questions
 * @returns {Context}
 */
export function createContext({ root = ROOT, log = (line) => console.error(line), yes = false } = {}) {
  const stateDir = join(root, '.hasten');
  mkdirSync(stateDir, { recursive: true });
  return {
    root,
    stateDir,
    log,
    confirm: questions(yes || !canAsk(process.env)),
    logFile: (step) => join(stateDir, 'logs', `${step}.log`),
  };
}

/** @param {NodeJS.ProcessEnv} env */
function canAsk(env) {
  return Boolean(process.stdin.isTTY && process.stderr.isTTY) && (env.CI ?? '') === '';
}

/**
 * Steps run side by side, so their questions wait for one another.
 * @param {boolean} always
 * @returns {(question: string) => Promise<boolean>}
 */
function questions(always) {
  /** @type {Promise<boolean>} */
  let previous = Promise.resolve(true);
  return (question) => {
    if (always) return Promise.resolve(true);
    previous = previous.then(() => askOnTerminal(question));
    return previous;
  };
}

/** @param {string} question */
async function askOnTerminal(question) {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [Y/n] `);
    return ['', 'y', 'yes'].includes(answer.trim().toLowerCase());
  } finally {
    terminal.close();
  }
}
