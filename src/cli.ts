#!/usr/bin/env node
/** Entry of the command line: `hasten run` on a local repository, `hasten compare`, and help. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readServiceSettings, type ServiceSettings } from './config/service-settings.js';
import { HastenError, UserError } from './domain/errors.js';
import type { Log } from './domain/log.js';

const USAGE = `hasten compare BASE HEAD [--bench FILE | --command TEXT] [options]

Says whether HEAD is faster than BASE: two git revisions, two directories, or npm:name@1 npm:name@2.
hasten compare --help tells the rest. Works without GitHub, model or account.

hasten run --repo DIR --issue TEXT [--json] [--quiet]

Makes a local git repository faster: plans a patch with the model of OPENAI_API_KEY or OPENAI_BASE_URL, builds,
tests and measures it in Docker, and leaves a branch hasten/<run> when it passed. The report goes to standard
output, what happens meanwhile to standard error.

  --repo DIR     folder of the repository; its HEAD commit is the base (default: this folder)
  --issue TEXT   the performance problem in words; the first line is its title
  --json         prints the run as one JSON object instead of the report
  --quiet        prints nothing but the report

Exit code: 0 with a branch, 1 without, 2 for wrong use.`;

async function main(argv: readonly string[]): Promise<number> {
  const [command, ...rest] = argv;
  if (command === undefined || command === 'help' || command === '--help' || command === '-h') {
    console.log(USAGE);
    return command === undefined ? 2 : 0;
  }
  if (command === 'compare') return compareSubjects(rest);
  if (command !== 'run') {
    throw new UserError({ code: 'UNKNOWN_COMMAND', message: `There is no command ${command}.\n\n${USAGE}` });
  }
  return runCommand(rest);
}

async function runCommand(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      repo: { type: 'string', default: '.' },
      issue: { type: 'string' },
      json: { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (values.issue === undefined || values.issue.trim() === '') {
    throw new UserError({
      code: 'ISSUE_MISSING',
      message: `--issue needs the performance problem in words.\n\n${USAGE}`,
    });
  }
  // Each command loads only what it needs: comparing has no use for GitHub, model and machine.
  const { runLocally } = await import('./local-run.js');
  const { run, report } = await runLocally({
    directory: values.repo,
    issue: values.issue,
    settings: localSettings(),
    log: values.quiet ? silentLog : errorLog,
    signal: interruption(),
  });
  if (values.json) console.log(JSON.stringify(run));
  else console.log(report === '' ? `No branch: ${run.outcomeReason ?? 'unknown'}` : report);
  return run.outcome === 'pull-request' ? 0 : 1;
}

async function compareSubjects(argv: readonly string[]): Promise<number> {
  const { compareCommand } = await import('./compare/compare-command.js');
  const { stdout, stderr } = process;
  const cwd = process.cwd();
  return compareCommand({ argv, readSettings: localSettings, cwd, stdout, stderr, signal: interruption() });
}

/** Aborts at the first SIGINT or SIGTERM; a second one ends the process as usual. */
function interruption(): AbortSignal {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  process.once('SIGTERM', () => interrupt.abort());
  return interrupt.signal;
}

function localSettings(): ServiceSettings {
  return readServiceSettings({ HASTEN_DATA_DIR: localDataDir(), ...process.env }, process.cwd());
}

/** Outside of the repository, where nothing of ours belongs into the working tree. */
function localDataDir(): string {
  return join(process.env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'hasten');
}

/** One line each on standard error. */
const errorLog: Log = {
  info: (_fields, message) => console.error(message),
  warn: (_fields, message) => console.error(message),
  error: (_fields, message) => console.error(message),
};
const silentLog: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

function isInterruption(error: unknown): error is Error {
  return error instanceof Error && error.name === 'InterruptedError';
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    const isWrongUse = error instanceof UserError || (error instanceof TypeError && 'code' in error);
    const isExpected = isWrongUse || error instanceof HastenError || isInterruption(error);
    console.error(isExpected ? `hasten: ${error.message}` : error);
    process.exit(isWrongUse ? 2 : 1);
  },
);
