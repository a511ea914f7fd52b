/** The command `hasten compare` as the command line calls it: arguments in, report out, exit code back. */
import type { ServiceSettings } from '../config/service-settings.js';
import { HastenError, storedError } from '../domain/errors.js';
import { StepFailed } from '../evaluator/step-failed.js';
import { compare } from './compare.js';
import { COMPARE_USAGE, type CompareArguments, parseCompareArguments } from './compare-arguments.js';
import { type Comparison, ERROR_EXIT_CODE, exitCodeOf } from './comparison.js';
import { jsonError, jsonReport } from './json-report.js';
import { markdownReport } from './markdown-report.js';
import { createProgressLine, type ProgressStream } from './progress-line.js';
import { textReport } from './text-report.js';

export interface CompareCommand {
  /** Words after `compare`. */
  readonly argv: readonly string[];
  readonly readSettings: () => ServiceSettings;
  /** Absolute. */
  readonly cwd: string;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: ProgressStream;
  readonly signal: AbortSignal;
}

const INTERRUPTED_EXIT_CODE = 130;
const HOST_WARNING =
  'warning: --host runs the code of both sides on this machine with your rights, without isolation.';

/** Never throws; 0 faster, 1 slower, 2 no change, 3 inconclusive, 4 error, 130 interrupted. */
export async function compareCommand(command: CompareCommand): Promise<number> {
  const { stdout, signal } = command;
  const progress = createProgressLine(command.stderr);
  // Known before the words are, so that a program that asks for JSON gets it for wrong use too.
  const asksJson = command.argv.includes('--json');
  try {
    const asked = parseCompareArguments(command.argv);
    if (asked === 'help') {
      stdout.write(`${COMPARE_USAGE}\n`);
      return 0;
    }
    if (asked.host) progress.note(HOST_WARNING);
    const settings = command.readSettings();
    const { cwd } = command;
    const comparison = await compare({ asked, settings, cwd, progress: progress.show, signal });
    progress.clear();
    stdout.write(`${report(comparison, asked)}\n`);
    return exitCodeOf(comparison.verdict);
  } catch (error) {
    progress.clear();
    if (signal.aborted) {
      command.stderr.write('hasten: Interrupted; nothing was left behind.\n');
      return INTERRUPTED_EXIT_CODE;
    }
    command.stderr.write(`hasten: ${errorText(error)}\n`);
    if (asksJson)
      stdout.write(`${jsonError({ ...storedError(error), message: messageOf(error) }, evidenceOf(error))}\n`);
    return ERROR_EXIT_CODE;
  }
}

function report(comparison: Comparison, { output }: CompareArguments): string {
  const worded = {
    ...comparison,
    reason: inWords(comparison.reason),
  };
  if (output === 'json') return jsonReport(worded);
  return output === 'markdown' ? markdownReport(worded) : textReport(worded);
}

function errorText(error: unknown): string {
  if (!(error instanceof HastenError))
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  const evidence = evidenceOf(error);
  const hint =
    error.code === 'OUTPUT_CHANGED'
      ? '\nPass --allow-different-output to compare the speed all the same.'
      : '';
  return `${messageOf(error)}${evidence === null ? '' : `\n${evidence}`}${hint}`;
}

function messageOf(error: unknown): string {
  return inWords(error instanceof Error ? error.message : String(error));
}

function evidenceOf(error: unknown): string | null {
  return error instanceof StepFailed && error.evidence !== ''
    ? error.evidence.replace(/^patch: /m, 'head: ')
    : null;
}

/** The gate calls the second side the patch; here it is whatever the user named. */
function inWords(text: string): string {
  return text.replace(/\bbase and patch\b/g, 'base and head').replace(/\bthe patch\b/g, 'head');
}
