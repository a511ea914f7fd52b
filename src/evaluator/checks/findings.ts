/** What a type checker, linter or formatter said, as lines that can be compared between two trees: pure. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
const ESCAPES = /\u001b\[[0-9;?]{0,20}[A-Za-z]|\u001b\]8;[^\u0007]{0,2000}\u0007/g;
const TIMESTAMP = /\d{4}-\d\d-\d\d[T ]\d\d[:_]\d\d[\d:_.]{0,20}Z?/g;
/** Codes such as TS2322 keep their number, places and counts do not. */
const NUMBER = /(?<![A-Za-z_\d])\d+(?:\.\d+)?/g;
const DURATION = /#\s?(?:ms|µs|ns|s|m|min|seconds?|minutes?)\b/g;
const COUNTED = /# ([A-Za-z]{2,40}?)(?:\(s\)|s)?(?![A-Za-z])/g;
/** Excerpts of the source with which tools point at a place: unchanged code around a finding must not look like one. */
const EXCERPT = /^\s*>?\s*#?\s*[│|](?:\s|$)|^\s*(?:[~^]+|[·]+)\s*$|^#\s{2,}\S|^# +\S.*[;{}(),]$/;
/** Sums over all findings, worded by how many there are. */
const SUMS =
  /^(?:Found # error|\[warn\] Code style issue|\[error\] Code style issue|.{0,3}# (?:problem|error|warning)\b|Checked # file|Found # (?:warning|info|fix))/;

/**
 * One entry per line that may be a finding, normalised: without colours, places, times and counts, with paths from the
 * root. An indented line carries the line that it stands under, which is the file in most tools.
 */
export function findingLines(output: string): readonly string[] {
  const lines: string[] = [];
  let heading = '';
  for (const raw of output.replace(ESCAPES, '').split(/\r\n?|\n/)) {
    const line = normalised(raw);
    if (line.trim() === '' || EXCERPT.test(line) || SUMS.test(line.trim())) continue;
    const indented = /^\s/.test(raw);
    if (!indented) heading = line.trim();
    lines.push(indented ? `${heading} › ${line.trim()}` : line.trim());
  }
  return lines;
}

/** Lines of the patch beyond those of the base, each as often as it is new. */
export function newFindings(base: readonly string[], patch: readonly string[]): readonly string[] {
  const known = new Map<string, number>();
  for (const line of base) known.set(line, (known.get(line) ?? 0) + 1);
  return patch.filter((line) => {
    const left = known.get(line) ?? 0;
    if (left > 0) known.set(line, left - 1);
    return left === 0;
  });
}

function normalised(line: string): string {
  return line
    .replaceAll('file:///ws/', '')
    .replaceAll('/ws/', '')
    .replace(/(^|[\s(])\/ws(?=[\s)]|$)/g, '$1.')
    .replace(TIMESTAMP, '#')
    .replace(NUMBER, '#')
    .replace(DURATION, '#t')
    .replace(COUNTED, '# $1')
    .replace(/\s+$/, '');
}
