/** A report in JSON as places: each knows its value, its path, and where in the text it stands. */
import type { z } from 'zod';
import type { StepFailed } from '../step-failed.js';
import { checkJsonSyntax, endOfValue, type JsonPath, offsetOfPath } from './json-places.js';
import { type ReportPlace, type ReportSource, shown } from './report-source.js';

const MAX_CAME_CHARS = 2000;
/** Of one list or object: 200 benchmarks with 500 repetitions each. */
const MAX_ITEMS = 100_000;

/** JSON in a part of a source, from `start` of the part on. */
interface JsonText {
  readonly source: ReportSource;
  readonly text: string;
  readonly start: number;
  /** Where the part begins in the source. */
  readonly base: number;
}

/** Reads the whole text as one JSON value. What a package manager prints before a script's own output is passed over. */
export function jsonReport(source: ReportSource): JsonPlace {
  return parsed({ source, text: source.text, start: headingEnd(source.text), base: 0 });
}

/** Reads one line of a report that holds a JSON value per line; `base` is where the line starts in the report. */
export function jsonLine(source: ReportSource, line: string, base: number): JsonPlace {
  return parsed({ source, text: line, start: 0, base });
}

export class JsonPlace implements ReportPlace {
  constructor(
    private readonly json: JsonText,
    readonly path: JsonPath,
    readonly value: unknown,
  ) {}

  /** The value checked by a schema whose messages say what is expected. */
  as<T>(schema: z.ZodType<T>): T {
    const result = schema.safeParse(this.value);
    if (result.success) return result.data;
    const problems = result.error.issues.map((issue) => {
      const path = [...this.path, ...issue.path.filter((step) => typeof step !== 'symbol')];
      return { path, at: this.offset(path), expected: issue.message };
    });
    problems.sort((a, b) => a.at - b.at);
    const [first] = problems;
    throw first === undefined
      ? this.refuse('another value')
      : new JsonPlace(this.json, first.path, null).refuse(first.expected);
  }

  /** The places of a list's items. */
  items(expected: string): readonly JsonPlace[] {
    if (!Array.isArray(this.value)) throw this.refuse(expected);
    const list: readonly unknown[] = this.value;
    if (list.length > MAX_ITEMS) throw this.refuse(expected, `one of ${list.length} items`);
    return list.map((value, index) => new JsonPlace(this.json, [...this.path, index], value));
  }

  /** The places of an object's members. */
  members(expected: string): readonly (readonly [string, JsonPlace])[] {
    if (!isObject(this.value)) throw this.refuse(expected);
    const entries = Object.entries(this.value);
    if (entries.length > MAX_ITEMS) throw this.refuse(expected, `one of ${entries.length} members`);
    return entries.map(([name, value]) => [name, new JsonPlace(this.json, [...this.path, name], value)]);
  }

  /** The place of a member, with the value undefined where there is none. */
  member(name: string): JsonPlace {
    const held = isObject(this.value) && Object.hasOwn(this.value, name);
    const value: unknown = held ? Reflect.get(this.value, name) : undefined;
    return new JsonPlace(this.json, [...this.path, name], value);
  }

  refuse(expected: string, came?: string): StepFailed {
    return this.json.source.unreadable(this.spot(), expected, came ?? this.came());
  }

  failed(benchmark: string, why: string): StepFailed {
    return this.json.source.benchmarkFailed(this.spot(), benchmark, why);
  }

  private spot() {
    return {
      ...this.json.source.lineAndColumn(this.json.base + this.offset(this.path)),
      path: pathWords(this.path),
    };
  }

  private came(): string {
    const { text } = this.json;
    const last = this.path.at(-1);
    const parent = this.offset(this.path.slice(0, -1));
    const at = this.offset(this.path);
    if (last !== undefined && at === parent) return `nothing: ${pathWords(this.path)} is missing`;
    const end = Math.min(endOfValue(text, at), at + MAX_CAME_CHARS);
    return shown(text.slice(at, end));
  }

  private offset(path: JsonPath): number {
    return offsetOfPath(this.json.text, this.json.start, path);
  }
}

function parsed(json: JsonText): JsonPlace {
  const { source, text, start } = json;
  try {
    return new JsonPlace(json, [], JSON.parse(text.slice(start)));
  } catch {
    const { problem, nonNumbers } = checkJsonSyntax(text, start);
    if (problem !== null) {
      const spot = { ...source.lineAndColumn(json.base + problem.at), path: null };
      throw source.unreadable(spot, problem.expected, cameAt(text, problem.at));
    }
    return new JsonPlace(json, [], JSON.parse(withoutNonNumbers(text, nonNumbers).slice(start)));
  }
}

/** Non-numbers become strings of the same length, so that places stay and no schema takes them for numbers. */
function withoutNonNumbers(
  text: string,
  nonNumbers: readonly { readonly at: number; readonly length: number }[],
): string {
  const parts: string[] = [];
  let done = 0;
  for (const { at, length } of nonNumbers) {
    parts.push(text.slice(done, at), `"${'_'.repeat(length - 2)}"`);
    done = at + length;
  }
  return [...parts, text.slice(done)].join('');
}

/** Behind a byte order mark and the lines `> name@version script` that npm and pnpm print. */
function headingEnd(text: string): number {
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  for (;;) {
    const newline = text.indexOf('\n', at);
    const line = newline === -1 ? null : text.slice(at, newline);
    if (line === null || !(line.startsWith('> ') || line.trim() === '')) return at;
    at = newline + 1;
  }
}

function cameAt(text: string, at: number): string {
  if (at >= text.length) return 'the end of the text';
  return JSON.stringify(shown(text.slice(at, at + 40)) || text.charAt(at));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function pathWords(path: JsonPath): string {
  const words = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`;
    return /^[A-Za-z_$][\w$]{0,60}$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  });
  return words.join('').replace(/^\./, '') || 'the whole report';
}
