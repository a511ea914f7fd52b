/** Finds the `/hasten …` command in a comment: alone on its line, not in quotes, code blocks or hidden text. Pure. */

export type CommentCommand =
  | { readonly kind: 'none' }
  | { readonly kind: 'run'; readonly hint: string | null }
  | {
      readonly kind: 'command';
      readonly name: 'approve' | 'reject' | 'cancel' | 'status';
      readonly text: string | null;
    }
  /** `/hasten` with another word or none. */
  | { readonly kind: 'unknown'; readonly word: string | null }
  /** More than one command: nobody can tell which one counts. */
  | { readonly kind: 'several' };

const COMMAND = /^ {0,3}\/hasten(?:[ \t]+(.*))?$/i;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const QUOTE = /^ {0,3}>/;
const PERSON_COMMANDS = ['approve', 'reject', 'cancel', 'status'] as const;
const MAX_TEXT_CHARS = 1000;
const MAX_WORD_CHARS = 40;

/** The one command of a comment's Markdown text. */
export function parseCommentCommand(comment: string): CommentCommand {
  const found = visibleLines(comment).flatMap((line) => {
    const match = COMMAND.exec(line);
    return match === null ? [] : [(match[1] ?? '').trim()];
  });
  const [words] = found;
  if (words === undefined) return { kind: 'none' };
  if (found.length > 1) return { kind: 'several' };
  const [word = '', rest = ''] = splitFirstWord(words);
  const text = rest === '' ? null : rest.slice(0, MAX_TEXT_CHARS);
  const wanted = word.toLowerCase();
  if (wanted === 'run') return { kind: 'run', hint: text };
  const name = PERSON_COMMANDS.find((known) => known === wanted);
  if (name !== undefined) return { kind: 'command', name, text };
  return { kind: 'unknown', word: word === '' ? null : word.slice(0, MAX_WORD_CHARS) };
}

function splitFirstWord(words: string): [string, string] {
  const end = words.search(/[ \t]/);
  return end === -1 ? [words, ''] : [words.slice(0, end), words.slice(end).trim()];
}

/**
 * Lines that a reader sees as plain text. Left out: fenced code, quotes with the lines that Markdown draws into
 * them, HTML comments and `<pre>`. Indented code never matches, since a command stands at most three spaces in.
 */
function visibleLines(comment: string): string[] {
  const lines: string[] = [];
  let fence: string | null = null;
  let quoted = false;
  for (const line of withoutHidden(comment).split(/\r\n|\r|\n/)) {
    const marker = FENCE.exec(line);
    if (fence !== null) {
      if (marker !== null && closes(fence, marker)) fence = null;
      continue;
    }
    if (marker !== null && !(marker[1]?.startsWith('`') && marker[2]?.includes('`'))) {
      fence = marker[1] ?? null;
      quoted = false;
      continue;
    }
    if (line.trim() === '') quoted = false;
    else if (QUOTE.test(line)) quoted = true;
    if (!quoted) lines.push(line);
  }
  return lines;
}

function closes(fence: string, marker: RegExpExecArray): boolean {
  const [, ticks = '', after = ''] = marker;
  return ticks[0] === fence[0] && ticks.length >= fence.length && after.trim() === '';
}

/** Text that the rendered comment hides or shows as code becomes empty; an unclosed start hides all that follows. */
function withoutHidden(comment: string): string {
  return comment
    .replace(/<!--[\s\S]*?(?:-->|$)/g, ' ')
    .replace(/<(pre|script|style|textarea)\b[\s\S]*?(?:<\/\1\s*>|$)/gi, ' ');
}
