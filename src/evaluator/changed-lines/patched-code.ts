/** What of a patch executes, file by file, and how it is named to people. */
import type { EvaluationContext } from '../evaluation-context.js';
import { type ChangedLine, changedCode } from './changed-code.js';
import { changedFiles } from './diff-lines.js';

export interface PatchedLine {
  readonly path: string;
  readonly line: ChangedLine;
}

export interface PatchedCode {
  /** Changed lines that execute, by file and line. */
  readonly lines: readonly PatchedLine[];
  /** Files of which nothing can be said, with the reason. */
  readonly notKnown: readonly { readonly path: string; readonly reason: string }[];
}

/** Reads the patched files out of the mirror. */
export async function patchedCode(
  context: Pick<EvaluationContext, 'mirror' | 'repository' | 'patch'>,
): Promise<PatchedCode> {
  const lines: PatchedLine[] = [];
  const notKnown: { path: string; reason: string }[] = [];
  for (const { path, runs } of changedFiles(context.patch.diff)) {
    const content = await context.mirror.readFile(context.repository, context.patch.tree, path);
    const code =
      content === null
        ? ({ kind: 'not-known', reason: 'it is no regular file' } as const)
        : changedCode(path, content.toString('utf8'), runs);
    if (code.kind === 'not-known') notKnown.push({ path, reason: code.reason });
    else lines.push(...code.lines.map((line) => ({ path, line })));
  }
  return { lines, notKnown };
}

const MOST_NAMED = 10;

/** `lib/a.js:40-44, lib/a.js:51`; neighbours are one range. */
export function namedLines(lines: readonly PatchedLine[]): string {
  const ranges: { path: string; first: number; last: number }[] = [];
  for (const { path, line } of lines) {
    const open = ranges.at(-1);
    if (open !== undefined && open.path === path && line.line - open.last <= 2) open.last = line.line;
    else ranges.push({ path, first: line.line, last: line.line });
  }
  const shown = ranges
    .slice(0, MOST_NAMED)
    .map(({ path, first, last }) => (first === last ? `${path}:${first}` : `${path}:${first}-${last}`));
  const more = ranges.length > MOST_NAMED ? ` and ${ranges.length - MOST_NAMED} more places` : '';
  return `${shown.join(', ')}${more}`;
}
