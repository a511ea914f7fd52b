/** Reads a patch's unified diff: which runs of lines it adds, changes or deletes, by the numbers of the patched side. */

export interface ChangedRun {
  /** Line numbers on the patched side, from 1; empty when lines were only deleted. */
  readonly lines: readonly number[];
  /** The last line of the patched side before the run; 0 at the start of the file. */
  readonly after: number;
  /** Texts of the lines of the base that are gone. */
  readonly deleted: readonly string[];
}

export interface ChangedFile {
  /** Path on the patched side, from the root. */
  readonly path: string;
  readonly runs: readonly ChangedRun[];
}

const HUNK = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Files of a `git diff` text in its order, deleted files and binary changes left out. Lines that are no diff are passed over. */
export function changedFiles(diff: string): readonly ChangedFile[] {
  const files: { path: string; runs: ChangedRun[] }[] = [];
  const lines = diff.split('\n');
  let runs: ChangedRun[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (line.startsWith('+++ ')) {
      const path = patchedPath(line.slice(4));
      runs = [];
      if (path !== null) files.push({ path, runs });
      continue;
    }
    const hunk = HUNK.exec(line);
    if (hunk === null) continue;
    const start = Number(hunk[2]);
    const counts = { old: Number(hunk[1] ?? 1), new: Number(hunk[3] ?? 1) };
    const next = counts.new === 0 ? start + 1 : start;
    at = readHunk(lines, at + 1, { ...counts, next }, runs);
  }
  return files;
}

/** Takes the lines of one hunk, by its counts; answers with the index of the last one. */
function readHunk(
  lines: readonly string[],
  from: number,
  hunk: { old: number; new: number; next: number },
  runs: ChangedRun[],
): number {
  let run: { lines: number[]; deleted: string[] } | null = null;
  let at = from;
  const end = () => {
    if (run !== null) runs.push({ ...run, after: hunk.next - 1 - run.lines.length });
    run = null;
  };
  for (; at < lines.length && (hunk.old > 0 || hunk.new > 0); at++) {
    const line = lines[at] ?? '';
    if (line.startsWith('\\')) continue;
    if (line.startsWith('+')) {
      run ??= { lines: [], deleted: [] };
      run.lines.push(hunk.next++);
      hunk.new--;
    } else if (line.startsWith('-')) {
      run ??= { lines: [], deleted: [] };
      run.deleted.push(line.slice(1));
      hunk.old--;
    } else {
      end();
      hunk.next++;
      hunk.old--;
      hunk.new--;
    }
  }
  end();
  return at - 1;
}

/** The path behind `+++ `, null for a deleted file. Git quotes unusual names like C strings. */
function patchedPath(text: string): string | null {
  const name = text.startsWith('"') ? unquoted(text) : text.replace(/\t.*$/, '');
  return name === '/dev/null' ? null : name.replace(/^b\//, '');
}

const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };

function unquoted(text: string): string {
  const bytes: number[] = [];
  const inner = text.slice(1, text.lastIndexOf('"'));
  for (const [part] of inner.matchAll(/\\[0-7]{3}|\\.|[^\\]+/gs)) {
    if (!part.startsWith('\\')) bytes.push(...Buffer.from(part));
    else if (part.length === 4) bytes.push(Number.parseInt(part.slice(1), 8));
    else bytes.push(ESCAPES[part[1] ?? ''] ?? part.charCodeAt(1));
  }
  return Buffer.from(bytes).toString('utf8');
}
