/** Finds in a patched source what the changed lines execute: positions that a coverage can be asked about. */
import type { ChangedRun } from './diff-lines.js';
import { type CodePiece, type ExecutableCode, executableCode, type SourcePoint } from './executable-code.js';

/**
 * A changed line and what must be executed for it to count: of each function that the line has code of, one of its
 * points. A line that makes a function has code of two: making it is not calling it.
 */
export interface ChangedLine {
  readonly line: number;
  readonly functions: readonly (readonly SourcePoint[])[];
}

/** What the changes of a file execute; `not-known` where it cannot be read. */
export type ChangedCode =
  | { readonly kind: 'lines'; readonly lines: readonly ChangedLine[] }
  | { readonly kind: 'not-known'; readonly reason: string };

const PROSE = /\.(md|markdown|txt|rst|adoc)$|\.d\.[cm]?ts$|(^|\/)(LICENSE|NOTICE|AUTHORS|CHANGELOG)$/i;
const SCRIPT = /\.([cm]?[jt]s|[jt]sx)$/i;

/** Whether a file of this name is JavaScript or TypeScript that executes. */
export function isScript(path: string): boolean {
  return SCRIPT.test(path) && !PROSE.test(path);
}

/**
 * The changed lines of a file that execute something. Left out: comments, blank lines, lone brackets, imports, types.
 * Lines that were only deleted stand for the innermost function around them, told by its first statement. A change
 * without code of its own, as inside a text over several lines, stands for the statement around it.
 */
export function changedCode(path: string, source: string, runs: readonly ChangedRun[]): ChangedCode {
  if (PROSE.test(path)) return { kind: 'lines', lines: [] };
  if (!isScript(path)) return { kind: 'not-known', reason: 'only JavaScript and TypeScript can be followed' };
  const code = executableCode(path, source);
  if (code === null) return { kind: 'not-known', reason: 'it cannot be parsed' };
  const texts = code.codeText.split('\n');
  const byLine = new Map<number, ChangedLine>();
  for (const run of runs) {
    const own = run.lines.map((line) => changedLine(code, line)).filter((each) => each.functions.length > 0);
    const lines = own.length > 0 ? own : standIn(code, texts, run);
    for (const each of lines) byLine.set(each.line, each);
  }
  return { kind: 'lines', lines: [...byLine.values()].sort((a, b) => a.line - b.line) };
}

function changedLine(code: ExecutableCode, line: number): ChangedLine {
  const byFunction = new Map<CodePiece['within'], SourcePoint[]>();
  for (const piece of code.pieces) {
    if (piece.line !== line) continue;
    byFunction.set(piece.within, [...(byFunction.get(piece.within) ?? []), piece.point]);
  }
  return { line, functions: [...byFunction.values()] };
}

const CODE_TEXT = /[^\s{}()[\];,]/;
const NO_CODE_DELETED = /^\s*(\/\/|\/\*|\*|import\b|[\s{}()[\];,]*$)/;

function standIn(code: ExecutableCode, texts: readonly string[], run: ChangedRun): readonly ChangedLine[] {
  const line = run.lines.find((each) => CODE_TEXT.test(texts[each - 1] ?? ''));
  if (line !== undefined) {
    const around = innermost(code.statements.filter((each) => each.line <= line && each.lastLine >= line));
    return around === null ? [] : [{ line, functions: [[around.point]] }];
  }
  if (run.deleted.every((text) => NO_CODE_DELETED.test(text))) return [];
  const within = code.functions.filter((each) => each.firstLine <= run.after && each.lastLine > run.after);
  const around = within.sort((a, b) => b.firstLine - a.firstLine)[0];
  if (around !== undefined) return [{ line: around.entry.line, functions: [[around.entry]] }];
  const ofModule = code.statements.filter((each) => each.within === null);
  const nearest = ofModule.filter((each) => each.line <= run.after).at(-1) ?? ofModule[0];
  return nearest === undefined ? [] : [{ line: nearest.line, functions: [[nearest.point]] }];
}

function innermost(pieces: readonly CodePiece[]): CodePiece | null {
  return [...pieces].sort((a, b) => a.lastLine - a.line - (b.lastLine - b.line))[0] ?? null;
}
