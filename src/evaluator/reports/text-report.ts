/** A report in text, line by line. */
import type { StepFailed } from '../step-failed.js';
import { type JsonPlace, jsonLine } from './json-report.js';
import { linesOf, quoted, type ReportPlace, type ReportSource, type SourceLine } from './report-source.js';

/** Lines longer than this belong to no tool's table. */
const MAX_LINE_CHARS = 4000;
// Longest escape sequence that tools use for colours.
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
const ESCAPES = /\u001b\[[0-9;?]{0,20}[A-Za-z]/g;

export class ReportLine implements ReportPlace {
  constructor(
    private readonly source: ReportSource,
    private readonly line: SourceLine,
    /** Without colours. */
    readonly text: string,
  ) {}

  /** The line as one JSON value. */
  json(): JsonPlace {
    return jsonLine(this.source, this.line.text, this.line.start);
  }

  refuse(expected: string, came?: string): StepFailed {
    return this.source.unreadable(this.spot(), expected, came ?? quoted(this.line.text));
  }

  failed(benchmark: string, why: string): StepFailed {
    return this.source.benchmarkFailed(this.spot(), benchmark, why);
  }

  private spot() {
    return { line: this.line.number, column: null, path: null };
  }
}

/** The report's lines without colours; too long ones are left out, unless they may hold JSON. */
export function* reportLines(source: ReportSource): Generator<ReportLine> {
  for (const line of linesOf(source.text)) {
    if (line.text.startsWith('{')) yield new ReportLine(source, line, line.text);
    else if (line.text.length <= MAX_LINE_CHARS)
      yield new ReportLine(source, line, line.text.replace(ESCAPES, ''));
  }
}

/** The first line that is not blank: blamed for a report without any benchmark. */
export function firstLine(source: ReportSource): ReportLine {
  for (const line of reportLines(source)) if (line.text.trim() !== '') return line;
  return new ReportLine(source, { number: 1, start: 0, text: '' }, '');
}
