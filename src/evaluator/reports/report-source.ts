/** The text of a report with what it takes to say where it cannot be read. */
import type { ReportFormat } from '../../domain/plan.js';
import { clipped } from '../evidence.js';
import { StepFailed } from '../step-failed.js';
import { REPORT_HINTS } from './report-hints.js';

/** Something in a report that can be pointed at. */
export interface ReportPlace {
  /** The error for a report that cannot be read here; `came` is taken from the text where it is not given. */
  refuse(expected: string, came?: string): StepFailed;
  /** The error for a benchmark that the tool marks as failed. */
  failed(benchmark: string, why: string): StepFailed;
}

export interface Spot {
  /** 1-based. */
  readonly line: number;
  /** 1-based, in UTF-16 units; null where the line alone is meant. */
  readonly column: number | null;
  /** Such as `results[2].median`; null in text reports. */
  readonly path: string | null;
}

const SHOWN_CHARS = 80;
const EXCERPT_LINE_CHARS = 200;
const LINES_AROUND = 2;

export class ReportSource {
  constructor(
    readonly format: ReportFormat,
    readonly text: string,
  ) {}

  unreadable(spot: Spot, expected: string, came: string): StepFailed {
    const message =
      `The ${this.format} report cannot be read at ${this.words(spot)}: expected ${expected}, came ${came}. ` +
      `How to write it: ${REPORT_HINTS[this.format]}`;
    return this.failure('REPORT_UNREADABLE', message, spot.line);
  }

  benchmarkFailed(spot: Spot, benchmark: string, why: string): StepFailed {
    const message =
      `The ${this.format} report says that the benchmark ${quoted(benchmark)} failed: ${shown(why)} ` +
      `(${this.words(spot)}). Every benchmark of the report must run to its end.`;
    return this.failure('REPORT_BENCHMARK_FAILED', message, spot.line);
  }

  /** Line and column of an offset in the text. */
  lineAndColumn(offset: number): { readonly line: number; readonly column: number } {
    let line = 1;
    let lineStart = 0;
    for (let end = this.text.indexOf('\n'); end !== -1 && end < offset; ) {
      line += 1;
      lineStart = end + 1;
      end = this.text.indexOf('\n', lineStart);
    }
    return { line, column: offset - lineStart + 1 };
  }

  private words(spot: Spot): string {
    const column = spot.column === null ? '' : `, column ${spot.column}`;
    const path = spot.path === null ? '' : ` (${shown(spot.path)})`;
    return `line ${spot.line}${column}${path}`;
  }

  private failure(code: string, message: string, line: number): StepFailed {
    return new StepFailed({ code, message, evidence: clipped(`${message}\n\n${this.excerpt(line)}`) });
  }

  private excerpt(middle: number): string {
    const shownLines: string[] = [];
    for (const { number, text } of linesOf(this.text)) {
      if (number > middle + LINES_AROUND) break;
      if (number < middle - LINES_AROUND) continue;
      shownLines.push(`${number === middle ? '>' : ' '} ${number} | ${cut(text, EXCERPT_LINE_CHARS)}`);
    }
    return shownLines.join('\n');
  }
}

export interface SourceLine {
  /** 1-based. */
  readonly number: number;
  /** Offset of its first character. */
  readonly start: number;
  /** Without its end. */
  readonly text: string;
}

export function* linesOf(text: string): Generator<SourceLine> {
  let start = 0;
  for (let number = 1; start <= text.length; number += 1) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const inner = text.charCodeAt(end - 1) === 13 && end > start ? end - 1 : end;
    yield { number, start, text: text.slice(start, inner) };
    start = end + 1;
  }
}

/** One bounded line for a message. */
export function shown(text: string): string {
  return cut(text.replace(/[\s\p{Cc}]+/gu, ' ').trim(), SHOWN_CHARS);
}

export function quoted(text: string): string {
  return JSON.stringify(shown(text));
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}
