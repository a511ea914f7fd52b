/** Reads `.github/hasten.yml`: bounded YAML, a strict schema, and errors that name key, value and what is allowed. */
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { UserError } from '../domain/errors.js';
import { REPORT_FORMATS } from '../domain/plan.js';

/** Where a repository keeps its settings, on its default branch. */
export const SETTINGS_PATH = '.github/hasten.yml';

const MAX_FILE_BYTES = 32 * 1024;
const MAX_COMMAND_CHARS = 2000;
const MAX_PATH_CHARS = 400;
const MAX_GLOBS = 50;
const MAX_PROBLEMS_SHOWN = 20;
const MIB = 1024 * 1024;
const MIN_MEMORY_BYTES = 128 * MIB;

/** What the operator allows at most; a repository's file can only ask for less. */
export interface RepositoryCeilings {
  /** Attempts per run, at least 1. */
  readonly attempts: number;
  /** Dollars that one run may spend on model calls. */
  readonly budgetUsd: number;
  /** Deadlines of one command, milliseconds. */
  readonly timeouts: {
    readonly installMs: number;
    readonly buildMs: number;
    readonly testMs: number;
    readonly measureMs: number;
  };
  /** Bytes of one container. */
  readonly memoryBytes: number;
}

const MEMORY_UNITS: Readonly<Record<string, number>> = { MiB: MIB, GiB: 1024 * MIB };

function percentOf(text: string): number {
  return Number(text.slice(0, -1)) / 100;
}

/** Bytes of `512MiB` or `1.5GiB`; NaN for anything else. */
function bytesOf(text: string): number {
  const match = /^(\d{1,6}(?:\.\d{1,3})?)(MiB|GiB)$/.exec(text);
  const unit = MEMORY_UNITS[match?.[2] ?? ''];
  return match?.[1] === undefined || unit === undefined ? Number.NaN : Math.floor(Number(match[1]) * unit);
}

/** True for a plain path inside the repository: relative, `/` separated, no `.` or `..` segments. */
export function isInnerPath(path: string): boolean {
  if (path.length === 0 || path.length > MAX_PATH_CHARS || hasControlCharacters(path)) return false;
  return path
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\\'));
}

function hasControlCharacters(text: string): boolean {
  return [...text].some((character) => {
    const code = character.codePointAt(0) ?? 0;
    return (code < 32 && character !== '\n' && character !== '\t') || code === 127;
  });
}

const COMMAND_ALLOWED = `a command for sh, 1 to ${MAX_COMMAND_CHARS} characters`;

function command() {
  const allowed = COMMAND_ALLOWED;
  return z
    .string(allowed)
    .trim()
    .min(1, allowed)
    .max(MAX_COMMAND_CHARS, allowed)
    .refine((text) => !hasControlCharacters(text), `${allowed}, without control characters`);
}

function innerPath() {
  return z
    .string('a path from the root of the repository')
    .transform((path) => path.replace(/^\.\//, ''))
    .refine(isInnerPath, 'a path from the root of the repository, without "..", "." or a leading "/"');
}

/** A file that a tool writes: in the repository, or below `/tmp`. */
function reportPath() {
  const allowed = 'a path from the root of the repository, or below /tmp, without ".."';
  return z.string(allowed).refine((path) => isInnerPath(path.replace(/^\/tmp\//, '')), allowed);
}

/** A share as a number or in percent. */
function share(least: number, most: number) {
  const allowed = `a number from ${least} to ${most}, or a percentage from "${least * 100}%" to "${most * 100}%"`;
  const percentage = z
    .string()
    .regex(/^\d{1,3}(?:\.\d{1,3})?%$/)
    .transform(percentOf);
  return z
    .union([z.number(), percentage], allowed)
    .refine((value) => value >= least && value <= most, allowed);
}

function seconds(ceilingMs: number) {
  const most = Math.floor(ceilingMs / 1000);
  const allowed = `a whole number of seconds from 1 to ${most} (the operator's limit)`;
  return z.int(allowed).min(1, allowed).max(most, allowed);
}

/** A module for Hasten's own harness, or a command, or a command whose tool writes a known report. */
function benchmark() {
  const keys = {
    module: innerPath().optional(),
    entry: innerPath().optional(),
    command: command().optional(),
    report: z.enum(REPORT_FORMATS, `one of ${REPORT_FORMATS.join(', ')}`).optional(),
    file: reportPath().optional(),
  };
  const allowed = 'a map with module and entry, or with command, report and file';
  return z.strictObject(keys, allowed).transform((found, context) => {
    const refuse = (path: string[], message: string) => {
      context.addIssue({ code: 'custom', path, message });
      return z.NEVER;
    };
    const { module, entry, command, report, file } = found;
    if (module !== undefined) {
      const odd = (['command', 'report', 'file'] as const).filter((key) => found[key] !== undefined);
      for (const key of odd) refuse([key], 'nothing beside module');
      return odd.length > 0 ? z.NEVER : { module, ...(entry === undefined ? {} : { entry }) };
    }
    if (entry !== undefined) return refuse(['entry'], 'only together with module');
    if (command === undefined) {
      return report === undefined && file === undefined
        ? refuse([], allowed)
        : refuse(['command'], COMMAND_ALLOWED);
    }
    if (file !== undefined && report === undefined) return refuse(['file'], 'only together with report');
    return { command, ...(report === undefined ? {} : { report }), ...(file === undefined ? {} : { file }) };
  });
}

/** The schema of the file under an operator's ceilings; each message says what is allowed. */
function fileSchema(ceilings: RepositoryCeilings) {
  const attempts = `a whole number from 1 to ${ceilings.attempts} (the operator's limit)`;
  const budget = `dollars above 0, at most ${ceilings.budgetUsd} (the operator's limit)`;
  const memory = `a size like "512MiB" or "1GiB", from 128MiB to ${ceilings.memoryBytes / MIB}MiB (the operator's limit)`;
  const glob = 'a glob of at most 200 characters from the root, without ".." or a leading "/"';
  return z.strictObject({
    install: command().optional(),
    build: command().optional(),
    test: command().optional(),
    types: command().optional(),
    lint: command().optional(),
    format: command().optional(),
    benchmark: benchmark().optional(),
    entry: innerPath().optional(),
    allow: z
      .array(z.string(glob).min(1, glob).max(200, glob).refine(isInnerPath, glob), 'a list of globs')
      .max(MAX_GLOBS, `at most ${MAX_GLOBS} globs`)
      .optional(),
    attempts: z.int(attempts).min(1, attempts).max(ceilings.attempts, attempts).optional(),
    minimumEffect: share(0.01, 0.5).optional(),
    memoryGrowth: share(0.05, 5).optional(),
    approval: z
      .enum(['auto', 'before-push', 'draft', 'none'], 'one of auto, before-push, draft, none')
      .optional(),
    budget: z.number(budget).positive(budget).max(ceilings.budgetUsd, budget).optional(),
    timeouts: z
      .strictObject(
        {
          install: seconds(ceilings.timeouts.installMs).optional(),
          build: seconds(ceilings.timeouts.buildMs).optional(),
          test: seconds(ceilings.timeouts.testMs).optional(),
          measure: seconds(ceilings.timeouts.measureMs).optional(),
        },
        'an object with install, build, test, measure in seconds',
      )
      .optional(),
    memory: z
      .string(memory)
      .transform(bytesOf)
      .refine((bytes) => bytes >= MIN_MEMORY_BYTES && bytes <= ceilings.memoryBytes, memory)
      .optional(),
  });
}

/** The file after validation; a missing key is undefined. */
export type RepositoryFile = z.infer<ReturnType<typeof fileSchema>>;

/**
 * Parses and validates the content of the settings file. An empty file gives no keys.
 * Throws UserError `SETTINGS_INVALID` that lists every problem with key, value and what is allowed.
 */
export function parseRepositoryFile(content: Buffer, ceilings: RepositoryCeilings): RepositoryFile {
  const data = parseYaml(content);
  const result = fileSchema(ceilings).safeParse(data);
  if (result.success) return result.data;
  throw settingsInvalid(result.error.issues.flatMap((issue) => describeIssue(issue, data)));
}

/** The error for a settings file with the given problems, one sentence each. */
export function settingsInvalid(problems: readonly string[]): UserError {
  const shown = problems.slice(0, MAX_PROBLEMS_SHOWN);
  const more = problems.length > shown.length ? [`and ${problems.length - shown.length} more`] : [];
  const list = [...shown, ...more].map((problem) => `- ${problem}`).join('\n');
  return new UserError({
    code: 'SETTINGS_INVALID',
    message: `The settings of this repository (${SETTINGS_PATH}) cannot be used:\n${list}`,
  });
}

function parseYaml(content: Buffer): unknown {
  if (content.byteLength > MAX_FILE_BYTES) {
    throw settingsInvalid([`the file has ${content.byteLength} bytes; allowed: at most ${MAX_FILE_BYTES}`]);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content);
    const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true, merge: false });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw problem;
    return document.toJS({ maxAliasCount: 0 }) ?? {};
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw settingsInvalid([`the file is not plain YAML without aliases: ${bounded(reason)}`]);
  }
}

function describeIssue(issue: z.core.$ZodIssue, data: unknown): readonly string[] {
  if (issue.code === 'unrecognized_keys') {
    const where = issue.path.length === 0 ? '' : `${issue.path.map(String).join('.')}.`;
    return issue.keys.map((key) => `${where}${bounded(key)}: unknown key; allowed: ${knownKeys(issue.path)}`);
  }
  const key = issue.path.map(String).join('.');
  const value = issue.path.reduce<unknown>(memberOf, data);
  const shown = value === undefined ? 'is missing' : `is ${bounded(JSON.stringify(value) ?? String(value))}`;
  return [
    `${key === '' ? 'the file' : key} ${shown}; allowed: ${key === '' ? 'a map of keys' : issue.message}`,
  ];
}

function knownKeys(path: readonly PropertyKey[]): string {
  if (path[0] === 'benchmark') return 'module, entry; or command, report, file';
  if (path[0] === 'timeouts') return 'install, build, test, measure';
  return 'install, build, test, types, lint, format, benchmark, entry, allow, attempts, minimumEffect, memoryGrowth, approval, budget, timeouts, memory';
}

function memberOf(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return Object.entries(value).find(([name]) => name === String(key))?.[1];
}

function bounded(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}
