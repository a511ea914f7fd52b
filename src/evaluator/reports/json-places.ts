/** Finds places in JSON text: the first character that breaks its grammar, and where the value of a path begins. */

export type JsonPath = readonly (string | number)[];

export interface JsonProblem {
  /** Offset in the text; its length where the text ends too early. */
  readonly at: number;
  readonly expected: string;
}

export interface JsonSyntax {
  readonly problem: JsonProblem | null;
  /** Bare `NaN`, `Infinity` and `-Infinity`, which some tools write although JSON has no such numbers. */
  readonly nonNumbers: readonly { readonly at: number; readonly length: number }[];
}

const MAX_DEPTH = 1000;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const NON_NUMBER = /NaN|-?Infinity/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

type Expected = 'value' | 'item or ]' | 'key or }' | 'key' | 'colon' | 'comma or close' | 'end';

/** Checks `text` from offset `start` against the grammar of RFC 8259, apart from the non-numbers that it lists. */
export function checkJsonSyntax(text: string, start: number): JsonSyntax {
  return new SyntaxCheck(text, start).run();
}

class SyntaxCheck {
  private at: number;
  private expected: Expected = 'value';
  private readonly open: ('{' | '[')[] = [];
  private readonly nonNumbers: { at: number; length: number }[] = [];

  constructor(
    private readonly text: string,
    start: number,
  ) {
    this.at = start;
  }

  run(): JsonSyntax {
    for (;;) {
      this.at = skipSpace(this.text, this.at);
      if (this.at >= this.text.length && this.expected === 'end') break;
      const problem = this.step();
      if (problem !== null) return { problem, nonNumbers: this.nonNumbers };
    }
    return { problem: null, nonNumbers: this.nonNumbers };
  }

  private step(): JsonProblem | null {
    const character = this.text[this.at];
    switch (this.expected) {
      case 'value':
        return this.value(character);
      case 'item or ]':
        return character === ']' ? this.close() : this.value(character);
      case 'key or }':
        return character === '}' ? this.close() : this.key(character);
      case 'key':
        return this.key(character);
      case 'colon':
        return character === ':' ? this.next('value') : this.bad('":"');
      case 'comma or close':
        return this.commaOrClose(character);
      case 'end':
        return this.bad('the end of the report');
    }
  }

  private value(character: string | undefined): JsonProblem | null {
    if (character === '{' || character === '[') {
      if (this.open.length >= MAX_DEPTH) return this.bad(`at most ${MAX_DEPTH} levels of nesting`);
      this.open.push(character);
      return this.next(character === '{' ? 'key or }' : 'item or ]');
    }
    if (character === '"') return this.string() ?? this.afterValue();
    const length = matched(NUMBER, this.text, this.at) || matched(WORD, this.text, this.at);
    if (length > 0) return this.scalar(length);
    const nonNumber = matched(NON_NUMBER, this.text, this.at);
    if (nonNumber === 0) return this.bad('a JSON value');
    this.nonNumbers.push({ at: this.at, length: nonNumber });
    return this.scalar(nonNumber);
  }

  private scalar(length: number): null {
    this.at += length;
    return this.afterValue();
  }

  private key(character: string | undefined): JsonProblem | null {
    if (character !== '"') return this.bad('a key in double quotes');
    const problem = this.string();
    if (problem === null) this.expected = 'colon';
    return problem;
  }

  private commaOrClose(character: string | undefined): JsonProblem | null {
    const inObject = this.open.at(-1) === '{';
    if (character === ',') return this.next(inObject ? 'key' : 'value');
    if (character === (inObject ? '}' : ']')) return this.close();
    return this.bad(inObject ? '"," or "}"' : '"," or "]"');
  }

  private string(): JsonProblem | null {
    this.at += 1;
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (Number.isNaN(code)) return this.bad('the closing quote of a string');
      if (code < 32) return this.bad('a string without raw control characters');
      if (code === 34) break;
      const length = code === 92 ? matched(ESCAPE, this.text, this.at) : 1;
      if (length === 0) return this.bad('an escape of JSON');
      this.at += length;
    }
    this.at += 1;
    return null;
  }

  private close(): null {
    this.at += 1;
    this.open.pop();
    return this.afterValue();
  }

  private afterValue(): null {
    this.expected = this.open.length === 0 ? 'end' : 'comma or close';
    return null;
  }

  private next(expected: Expected): null {
    this.at += 1;
    this.expected = expected;
    return null;
  }

  private bad(expected: string): JsonProblem {
    return { at: Math.min(this.at, this.text.length), expected };
  }
}

/** Offset of the value of `path` in valid JSON that starts at `start`; of the innermost value around it where it is missing. */
export function offsetOfPath(text: string, start: number, path: JsonPath): number {
  let at = skipSpace(text, start);
  for (const step of path) {
    const next = typeof step === 'number' ? itemOffset(text, at, step) : memberOffset(text, at, step);
    if (next === null) return at;
    at = next;
  }
  return at;
}

/** Offset behind the value that starts at `at`, in valid JSON. */
export function endOfValue(text: string, at: number): number {
  if (text[at] === '"') return endOfString(text, at);
  if (text[at] !== '{' && text[at] !== '[') return endOfScalar(text, at);
  let depth = 0;
  for (let index = at; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') index = endOfString(text, index) - 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0) return index + 1;
  }
  return text.length;
}

function itemOffset(text: string, list: number, index: number): number | null {
  if (text[list] !== '[') return null;
  let at = skipSpace(text, list + 1);
  for (let passed = 0; at < text.length && text[at] !== ']'; passed += 1) {
    if (passed === index) return at;
    at = skipSeparator(text, endOfValue(text, at));
  }
  return null;
}

/** The last member of that name, which is the one that JSON.parse keeps. */
function memberOffset(text: string, object: number, name: string): number | null {
  if (text[object] !== '{') return null;
  let found: number | null = null;
  let at = skipSpace(text, object + 1);
  while (at < text.length && text[at] === '"') {
    const keyEnd = endOfString(text, at);
    const value = skipSpace(text, skipSpace(text, keyEnd) + 1);
    if (JSON.parse(text.slice(at, keyEnd)) === name) found = value;
    at = skipSeparator(text, endOfValue(text, value));
  }
  return found;
}

function skipSeparator(text: string, at: number): number {
  const next = skipSpace(text, at);
  return text[next] === ',' ? skipSpace(text, next + 1) : next;
}

function endOfString(text: string, quote: number): number {
  let at = quote + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfScalar(text: string, start: number): number {
  let at = start;
  while (at < text.length && !' \t\r\n,]}'.includes(text.charAt(at))) at += 1;
  return at;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at += 1;
  return at;
}

function matched(sticky: RegExp, text: string, at: number): number {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0].length ?? 0;
}
