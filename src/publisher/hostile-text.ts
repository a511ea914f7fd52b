/**
 * Text that others wrote (issue titles, model words, paths, command output) made harmless for Markdown at GitHub:
 * it cannot mention people, reference or close issues, link, start HTML, end a code block or pass for a marker.
 */

const ZERO_WIDTH_SPACE = '\u200B';
const MAX_QUOTED_LINES = 40;

/** Control, bidirectional and zero-width characters; they can hide or reorder what a reader sees. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/gu;

/** Cuts a text to `max` characters, never inside a surrogate pair, and says so with an ellipsis. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, Math.max(0, max - 1)).replace(/[\uD800-\uDBFF]$/u, '')}…`;
}

/** One line without invisible characters, runs of white space as one space. */
function flatten(text: string): string {
  return text.replace(INVISIBLE, '').replace(/\s+/gu, ' ').trim();
}

/** Keeps GitHub from making mentions, references and links out of plain words. */
function disarmReferences(text: string): string {
  return text
    .replace(/@/gu, `@${ZERO_WIDTH_SPACE}`)
    .replace(/#(?=[0-9])/gu, `#${ZERO_WIDTH_SPACE}`)
    .replace(/(gh)-(?=[0-9])/giu, `$1-${ZERO_WIDTH_SPACE}`)
    .replace(/:\/\//gu, `:${ZERO_WIDTH_SPACE}//`)
    .replace(/www\./giu, `www${ZERO_WIDTH_SPACE}.`);
}

/** For places without Markdown (titles, commit subjects): one line of at most `max` characters. */
export function plainLine(text: string, max: number): string {
  return disarmReferences(shorten(flatten(text), max));
}

/** For running Markdown text: one line of at most `max` characters before escaping, shown literally. */
export function inline(text: string, max = 300): string {
  const escaped = shorten(flatten(text), max)
    .replace(/&/gu, '&amp;')
    .replace(/</gu, '&lt;')
    .replace(/>/gu, '&gt;')
    .replace(/[\\`*_{}[\]()#!|~$^]/gu, '\\$&')
    .replace(/^([-+=])/u, '\\$1')
    .replace(/^(\d{1,9})([.)])/u, '$1\\$2');
  return disarmReferences(escaped);
}

/** A code span of one line; safe in table cells too. */
export function code(text: string, max = 200): string {
  const line = shorten(flatten(text), max);
  if (line === '') return '(empty)';
  if (line.includes('|')) return `<code>${entities(line)}</code>`;
  const ticks = '`'.repeat(longestRun(line, '`') + 1);
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${ticks}${pad}${disarmMarkers(line)}${pad}${ticks}`;
}

/** A fenced code block, `info` names the language; content longer than `max` characters loses its middle. */
export function fenced(text: string, info: 'diff' | 'text' | 'sh' | 'yaml', max: number): string {
  const content = withoutMiddle(disarmMarkers(visible(text)), max).replace(/\n+$/u, '');
  const ticks = '`'.repeat(Math.max(3, longestRun(content, '`') + 1));
  return `${ticks}${info}\n${content}\n${ticks}`;
}

/** Words of somebody else as a block quote, line by line. */
export function quoted(text: string, max: number): string {
  const lines = shorten(text.replace(/\r\n?/gu, '\n'), max)
    .split('\n')
    .map((line) => inline(line, max))
    .filter((line, index, all) => line !== '' || (index > 0 && all[index - 1] !== ''));
  const shown = lines.slice(0, MAX_QUOTED_LINES);
  if (lines.length > shown.length) shown.push('…');
  return shown.map((line) => `> ${line}`.trimEnd()).join('\n');
}

/** A message of ours that may hold words of others: one line as text, several lines as a block. */
export function message(text: string, max = 4000): string {
  const trimmed = text.trim();
  return trimmed.includes('\n') ? fenced(trimmed, 'text', max) : inline(trimmed, max);
}

/** For Markdown of our own that may hold words of others: mentions and markers lose their power, the rest stays. */
export function withoutMentions(markdown: string): string {
  return disarmMarkers(markdown).replace(/@(?=[A-Za-z0-9])/gu, `@${ZERO_WIDTH_SPACE}`);
}

/** Keeps head and tail of a text, with a line between that says how many characters are missing. */
export function withoutMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const half = Math.floor(max / 2);
  const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/u, '');
  const tail = text.slice(-half).replace(/^[\uDC00-\uDFFF]/u, '');
  return `${head}\n… ${text.length - head.length - tail.length} characters left out …\n${tail}`;
}

/** Invisible characters as escapes, so that a reader of a diff sees them. */
function visible(text: string): string {
  return text
    .replace(/\r\n?/gu, '\n')
    .replace(INVISIBLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Markers are searched by text, so nothing shown may look like one. */
function disarmMarkers(text: string): string {
  return text.replace(/<!--(?=\s*hasten:)/giu, `<!${ZERO_WIDTH_SPACE}--`);
}

function longestRun(text: string, character: string): number {
  let longest = 0;
  let current = 0;
  for (const each of text) {
    current = each === character ? current + 1 : 0;
    longest = Math.max(longest, current);
  }
  return longest;
}

function entities(text: string): string {
  return text.replace(/[^A-Za-z0-9 ]/gu, (character) => `&#${character.codePointAt(0) ?? 0};`);
}
