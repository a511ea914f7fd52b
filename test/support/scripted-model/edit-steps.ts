/** Turns the content of a file into another one by the edits that a model would make: exact, unique replacements. */

export interface ToolStep {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** More places than this, and a model would write the whole file. */
const MAX_EDITS = 6;
const MAX_LINES = 4000;

interface Hunk {
  /** Lines of the old text, half open. */
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Steps that make `after` out of `before` (null: the file is new); none when they are equal. */
export function editSteps(path: string, before: string | null, after: string): readonly ToolStep[] {
  if (before === after) return [];
  const whole: ToolStep = { tool: 'write_file', arguments: { path, content: after } };
  if (before === null) return [whole];
  const old = splitLines(before);
  const wanted = splitLines(after);
  if (old.length > MAX_LINES || wanted.length > MAX_LINES) return [whole];
  const hunks = hunksBetween(old, wanted);
  if (hunks.length > MAX_EDITS) return [whole];
  // From the end, so that line numbers of earlier hunks stay true.
  const edits: ToolStep[] = [];
  let current = old;
  for (const hunk of [...hunks].reverse()) {
    const edit = uniqueEdit(current, hunk);
    if (edit === null) return [whole];
    edits.push({ tool: 'edit_file', arguments: { path, ...edit } });
    current = [...current.slice(0, hunk.from), ...hunk.lines, ...current.slice(hunk.to)];
  }
  return current.join('') === after ? edits : [whole];
}

/** Lines with their line ends. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The hunk with as many lines around it as make the old text unique. */
function uniqueEdit(lines: readonly string[], hunk: Hunk): { old: string; new: string } | null {
  const text = lines.join('');
  for (let around = 0; around <= lines.length; around += 1) {
    const start = Math.max(0, hunk.from - around);
    const end = Math.min(lines.length, hunk.to + around);
    const old = lines.slice(start, end).join('');
    if (old !== '' && text.indexOf(old) === text.lastIndexOf(old)) {
      const made = [...lines.slice(start, hunk.from), ...hunk.lines, ...lines.slice(hunk.to, end)];
      return { old, new: made.join('') };
    }
  }
  return null;
}

/** Hunks between two texts by the longest common subsequence of their lines. */
function hunksBetween(old: readonly string[], wanted: readonly string[]): readonly Hunk[] {
  const common = commonLengths(old, wanted);
  const hunks: Hunk[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < wanted.length) {
    if (i < old.length && j < wanted.length && old[i] === wanted[j]) {
      i += 1;
      j += 1;
      continue;
    }
    const [from, first] = [i, j];
    while (
      (i < old.length || j < wanted.length) &&
      (i >= old.length || j >= wanted.length || old[i] !== wanted[j])
    ) {
      if (j >= wanted.length || (i < old.length && at(common, i + 1, j) >= at(common, i, j + 1))) i += 1;
      else j += 1;
    }
    hunks.push({ from, to: i, lines: wanted.slice(first, j) });
  }
  return hunks;
}

function commonLengths(old: readonly string[], wanted: readonly string[]): readonly Uint16Array[] {
  const rows = Array.from({ length: old.length + 1 }, () => new Uint16Array(wanted.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    const row = rows[i];
    if (row === undefined) continue;
    for (let j = wanted.length - 1; j >= 0; j -= 1) {
      row[j] =
        old[i] === wanted[j] ? at(rows, i + 1, j + 1) + 1 : Math.max(at(rows, i + 1, j), at(rows, i, j + 1));
    }
  }
  return rows;
}

function at(rows: readonly Uint16Array[], i: number, j: number): number {
  return rows[i]?.[j] ?? 0;
}
