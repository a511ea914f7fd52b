/** Reads the words after `hasten compare`: pure, and every refusal says what was expected. */
import { parseArgs } from 'node:util';
import { UserError } from '../domain/errors.js';
import { REPORT_FORMATS, type ReportFormat } from '../domain/plan.js';

export const COMPARE_USAGE = `hasten compare BASE HEAD [--bench FILE | --command TEXT [--report FORMAT]] [options]

Says whether HEAD is faster than BASE, by the gate that decides on Hasten's own patches: fresh processes of both in
random order, a copy of BASE as control, an interval, and a verdict that may be "inconclusive". No GitHub, no model,
no account. Code runs in Docker, without network.

BASE and HEAD are each a git revision (main, HEAD~1, v1.2.0), a directory (./before, .) or a published package
(npm:cookie@0.4.2).

What is measured:
  --bench FILE        JavaScript or TypeScript module that exports run() or workloads, laid over both sides; it gets
                      the module under test as process.argv[2]
  --command TEXT      any command, run by sh in the root of each side
  --report FORMAT     with --command: takes the figures out of the report that the command's tool writes
                      (${REPORT_FORMATS.slice(0, 5).join(', ')},
                      ${REPORT_FORMATS.slice(5).join(', ')})
  --report-file PATH  file that the tool writes its report to (default: standard output)
  without any         the benchmark that BASE's .github/hasten.yml names

Options:
  --entry PATH        module under test, from the root of the repository or package (default: what package.json names)
  --repo DIR          repository of the revisions (default: this folder)
  --host              runs on this machine itself instead of in Docker: only for code that you trust
  --minimum-effect N  smallest difference that counts, 5% or 0.05 (default: the repository's setting, else 5%)
  --timeout SECONDS   longest time for measuring (default: the repository's setting, else 900)
  --seed TEXT         seed of the random order
  --confirm           measures a verdict "faster" or "slower" once more, and keeps it only when both agree
  --allow-different-output   compares although HEAD's output differs from BASE's
  --json, --markdown  prints one JSON object, or Markdown with a chart for a pull request, instead of text

Exit code: 0 faster, 1 slower, 2 no change, 3 inconclusive, 4 error, 130 interrupted.`;

export interface CompareArguments {
  /** As written: a revision, a directory or `npm:name@version`. */
  readonly base: string;
  readonly head: string;
  readonly repo: string;
  readonly measured:
    | { readonly kind: 'configured' }
    | { readonly kind: 'bench'; readonly file: string }
    | { readonly kind: 'command'; readonly command: string }
    | {
        readonly kind: 'report';
        readonly command: string;
        readonly format: ReportFormat;
        readonly file: string | null;
      };
  readonly entry: string | null;
  readonly host: boolean;
  readonly confirm: boolean;
  readonly allowDifferentOutput: boolean;
  /** 0.05 = 5 %; null: the settings decide. */
  readonly minimumEffect: number | null;
  readonly timeoutMs: number | null;
  readonly seed: string | null;
  readonly output: 'text' | 'json' | 'markdown';
}

const LONGEST_SECONDS = 6 * 3600;
const OPTIONS = {
  bench: { type: 'string' },
  command: { type: 'string' },
  report: { type: 'string' },
  'report-file': { type: 'string' },
  entry: { type: 'string' },
  repo: { type: 'string', default: '.' },
  host: { type: 'boolean', default: false },
  'minimum-effect': { type: 'string' },
  timeout: { type: 'string' },
  seed: { type: 'string' },
  confirm: { type: 'boolean', default: false },
  'allow-different-output': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  markdown: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Answers `help` when that is asked for. Throws UserError `COMPARE_ARGUMENTS`. */
export function parseCompareArguments(argv: readonly string[]): CompareArguments | 'help' {
  const { values, positionals } = parsed(argv);
  if (values.help) return 'help';
  const [base, head, ...more] = positionals;
  if (base === undefined || head === undefined || more.length > 0) {
    throw wrong(
      `expected two subjects, BASE and HEAD (git revisions, directories or npm:name@version), got ${positionals.length}`,
    );
  }
  if (base === '' || head === '') throw wrong('BASE and HEAD must not be empty');
  if (values.json && values.markdown) throw wrong('--json and --markdown exclude each other');
  return {
    base,
    head,
    repo: values.repo,
    measured: measuredOf(values),
    entry: values.entry ?? null,
    host: values.host,
    confirm: values.confirm,
    allowDifferentOutput: values['allow-different-output'],
    minimumEffect: values['minimum-effect'] === undefined ? null : shareOf(values['minimum-effect']),
    timeoutMs: values.timeout === undefined ? null : secondsOf(values.timeout) * 1000,
    seed: values.seed ?? null,
    output: values.json ? 'json' : values.markdown ? 'markdown' : 'text',
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw wrong((error.message.split('. ')[0] ?? error.message).replace(/\.$/, ''));
  }
}

interface MeasuredValues {
  readonly bench?: string | undefined;
  readonly command?: string | undefined;
  readonly report?: string | undefined;
  readonly 'report-file'?: string | undefined;
}

function measuredOf(values: MeasuredValues): CompareArguments['measured'] {
  const { bench, command, report } = values;
  const file = values['report-file'] ?? null;
  if (bench !== undefined && (command ?? report) !== undefined) {
    throw wrong('--bench excludes --command and --report: there is one benchmark per comparison');
  }
  if (report !== undefined && command === undefined) {
    throw wrong('--report needs --command with the command whose tool writes the report');
  }
  if (file !== null && report === undefined) throw wrong('--report-file needs --report with the format');
  if (bench !== undefined) return { kind: 'bench', file: nonEmpty('--bench', bench) };
  if (command === undefined) return { kind: 'configured' };
  const line = nonEmpty('--command', command);
  if (report === undefined) return { kind: 'command', command: line };
  const format = REPORT_FORMATS.find((known) => known === report);
  if (format === undefined) {
    throw wrong(`--report is ${JSON.stringify(report)}; expected one of ${REPORT_FORMATS.join(', ')}`);
  }
  return { kind: 'report', command: line, format, file };
}

function nonEmpty(option: string, text: string): string {
  if (text.trim() === '') throw wrong(`${option} must not be empty`);
  return text;
}

/** 0.05 of `5%` or `0.05`. */
function shareOf(text: string): number {
  const match = /^(\d{1,3}(?:\.\d{1,6})?) ?(%?)$/.exec(text.trim());
  const value = match === null ? Number.NaN : Number(match[1]) / (match[2] === '%' ? 100 : 1);
  if (value >= 0.01 && value <= 0.5) return value;
  throw wrong(`--minimum-effect is ${JSON.stringify(text)}; expected 1% to 50%, or 0.01 to 0.5`);
}

function secondsOf(text: string): number {
  const value = /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (value >= 1 && value <= LONGEST_SECONDS) return value;
  throw wrong(`--timeout is ${JSON.stringify(text)}; expected whole seconds from 1 to ${LONGEST_SECONDS}`);
}

function wrong(problem: string): UserError {
  return new UserError({
    code: 'COMPARE_ARGUMENTS',
    message: `compare: ${problem}. hasten compare --help shows all.`,
  });
}
