// @ts-check
// Starts the programs that set-up needs (apt-get, npm, docker …) and turns their failure into one clear sentence.
import { spawn } from 'node:child_process';
import { accessSync, closeSync, constants, mkdirSync, openSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** A reason why set-up cannot go on, written for the person who runs it: what is missing and what to do. */
export class SetUpError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'SetUpError';
  }
}

/**
 * @typedef {object} Outcome
 * @property {number} code exit code; 127 when the program does not exist, 124 when the time limit ended it
 * @property {string} stdout
 * @property {string} stderr
 */

/**
 * Runs a short program and returns what it printed; it never throws.
 * @param {string[]} argv program and arguments
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs?: number }} [options] time limit: 30 s unless told
 * @returns {Promise<Outcome>}
 */
export function capture(argv, { cwd, env = process.env, timeoutMs = 30_000 } = {}) {
  return new Promise((resolve) => {
    const [program = '', ...args] = argv;
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
    }, timeoutMs);
    child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    child.on('error', (error) => {
      clearTimeout(timer);
      resolve({ code: 127, stdout, stderr: error.message });
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code: late ? 124 : (code ?? 137), stdout, stderr });
    });
  });
}

/**
 * Runs a long program with its output in a log file; when it fails, the error carries the file's last lines.
 * @param {string[]} argv program and arguments
 * @param {{ what: string, logFile: string, cwd?: string, env?: NodeJS.ProcessEnv, timeoutMs: number }} options
 *   `what` completes "could not …"
 * @returns {Promise<void>}
 * @throws {SetUpError}
 */
export async function runLogged(argv, { what, logFile, cwd, env = process.env, timeoutMs }) {
  mkdirSync(dirname(logFile), { recursive: true });
  const log = openSync(logFile, 'w');
  const code = await new Promise((resolve) => {
    const [program = '', ...args] = argv;
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', log, log] });
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    child.on('error', () => resolve(127));
    child.on('close', (status, signal) => resolve(signal === 'SIGKILL' ? 124 : (status ?? 1)));
    child.on('close', () => clearTimeout(timer));
    child.on('error', () => clearTimeout(timer));
  });
  closeSync(log);
  if (code === 0) return;
  const reason = code === 124 ? `did not end within ${Math.round(timeoutMs / 1000)} s` : `ended with ${code}`;
  throw new SetUpError(`could not ${what}: ${argv.slice(0, 2).join(' ')} ${reason}. ${tail(logFile)}`);
}

/**
 * The last lines of a log file, indented, for an error message.
 * @param {string} logFile
 * @param {number} [lines]
 * @returns {string}
 */
export function tail(logFile, lines = 15) {
  let text = '';
  try {
    text = readFileSync(logFile, 'utf8').trimEnd();
  } catch {
    return `There is no log at ${logFile}.`;
  }
  const last = text.split('\n').slice(-lines);
  return `The end of ${logFile}:\n${last.map((line) => `    ${line}`).join('\n')}`;
}

/**
 * Whether a program can be started by its name.
 * @param {string} program
 * @param {string | undefined} [path] search path, the environment's unless told
 * @returns {boolean}
 */
export function isOnPath(program, path = process.env.PATH) {
  return (path ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}
