/** Asks coverage whether changed lines were executed: exactly, by the parts that V8 counted, through source maps where needed. */
import {
  GREATEST_LOWER_BOUND,
  generatedPositionFor,
  LEAST_UPPER_BOUND,
  TraceMap,
} from '@jridgewell/trace-mapping';
import type { ChangedLine } from './changed-code.js';
import type { Coverage, CoveredScript } from './coverage-protocol.js';
import type { SourcePoint } from './executable-code.js';

/** Answers for one coverage run. */
export interface Execution {
  /** False too where no process loaded the file; null where the file or the line cannot be followed. */
  executed(path: string, line: ChangedLine): boolean | null;
  /** Whether any of the line's points was: loading the module counts. Null where nothing is known. */
  executesAny(path: string, line: ChangedLine): boolean | null;
  /** Whether a script was executed that is the file, or is made of it. */
  loaded(path: string): boolean;
}

/** From the scripts of all processes of a run. */
export function executionOf({ scripts, untraced }: Pick<Coverage, 'scripts' | 'untraced'>): Execution {
  const traced = scripts.map((script) => ({
    script,
    map: mapOf(script),
    starts: lineStarts(script.lineLengths),
  }));
  const pointIn = (path: string, point: SourcePoint, each: (typeof traced)[number]): boolean | null => {
    const offset = offsetIn(path, point, each);
    return offset === null ? null : isWithin(offset, each.script.parts);
  };
  const answersFor = (path: string, line: ChangedLine): readonly (boolean | null)[] => {
    const of = traced.filter((each) => concerns(each.script, path));
    if (of.length === 0) return [untraced.includes(path) ? null : false];
    return line.functions.map((points) =>
      anyOf(points.flatMap((point) => of.map((each) => pointIn(path, point, each)))),
    );
  };
  return {
    executed(path, line) {
      const answers = answersFor(path, line);
      if (answers.includes(false)) return false;
      return answers.includes(null) ? null : true;
    },
    loaded: (path) => traced.some((each) => concerns(each.script, path)),
    executesAny(path, line) {
      const answers = answersFor(path, line);
      if (answers.includes(true)) return true;
      return answers.includes(null) ? null : false;
    },
  };
}

interface Traced {
  readonly script: CoveredScript;
  readonly map: TraceMap | null;
  readonly starts: readonly number[];
}

function concerns(script: CoveredScript, path: string): boolean {
  return script.map === null ? script.file === path : script.map.sources.includes(path);
}

/** True when one is, null when nothing is known. */
function anyOf(answers: readonly (boolean | null)[]): boolean | null {
  if (answers.includes(true)) return true;
  return answers.includes(false) ? false : null;
}

/** Offset in the executed text, null where the map does not know the point. */
function offsetIn(path: string, point: SourcePoint, { script, map, starts }: Traced): number | null {
  if (script.map === null || map === null) return offsetOf(starts, point.line, point.column);
  const needle = { source: path, line: point.line, column: point.column };
  const before = generatedPositionFor(map, { ...needle, bias: GREATEST_LOWER_BOUND });
  const found =
    before.line === null ? generatedPositionFor(map, { ...needle, bias: LEAST_UPPER_BOUND }) : before;
  return found.line === null ? null : offsetOf(starts, found.line, found.column);
}

function offsetOf(starts: readonly number[], line: number, column: number): number | null {
  const start = starts[line - 1];
  return start === undefined ? null : start + column;
}

function mapOf(script: CoveredScript): TraceMap | null {
  return script.map === null ? null : new TraceMap({ ...script.map, sources: [...script.map.sources] });
}

function lineStarts(lengths: readonly number[]): readonly number[] {
  let at = 0;
  return lengths.map((length) => {
    const start = at;
    at += length + 1;
    return start;
  });
}

/** `parts` are start, end, start, end … in order. */
function isWithin(offset: number, parts: readonly number[]): boolean {
  let low = 0;
  let high = parts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((parts[middle] ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return low % 2 === 1;
}
