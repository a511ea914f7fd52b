/** Reads JUnit XML as pytest, surefire, vitest and many others write it. */
import { type ListedTest, MOST_TESTS, type TestOutcome } from './test-result.js';

const TAG = /<(\/?)([A-Za-z][\w:.-]{0,99})((?:[^<>"']|"[^"]*"|'[^']*')*?)(\/?)>/y;
const ATTRIBUTE = /([A-Za-z_][\w:.-]{0,99})\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
const OUTCOMES: Readonly<Record<string, TestOutcome>> = {
  failure: 'failed',
  error: 'failed',
  skipped: 'skipped',
};

interface Case {
  readonly file: string | null;
  readonly names: readonly string[];
  outcome: TestOutcome;
}

/** Null for anything that is no whole document with a `testsuite` or `testsuites` at its root. Entities of a DTD are not read. */
export function readJunitXml(text: string): readonly ListedTest[] | null {
  const tests: Case[] = [];
  const open: string[] = [];
  const files: (string | null)[] = [];
  let current: Case | null = null;
  let root: string | null = null;
  let at = 0;
  while (true) {
    at = text.indexOf('<', at);
    if (at < 0) break;
    const passed = overSpecial(text, at);
    if (passed !== null) {
      if (passed < 0) return null;
      at = passed;
      continue;
    }
    TAG.lastIndex = at;
    const tag = TAG.exec(text);
    if (tag === null) return null;
    at = TAG.lastIndex;
    const [, closing, name = '', inside = '', empty] = tag;
    if (closing === '/') {
      if (open.pop() !== name) return null;
      if (name === 'testcase') current = null;
      if (name === 'testsuite') files.pop();
      continue;
    }
    root ??= name;
    if (name === 'testcase') {
      current = caseOf(attributesOf(inside), files.at(-1) ?? null);
      tests.push(current);
      if (tests.length > MOST_TESTS) return null;
    } else if (current !== null && OUTCOMES[name] !== undefined && current.outcome !== 'failed') {
      current.outcome = OUTCOMES[name];
    }
    if (empty === '/') {
      if (name === 'testcase') current = null;
      continue;
    }
    open.push(name);
    if (name === 'testsuite') files.push(attributesOf(inside).get('file') ?? null);
  }
  const whole = open.length === 0 && (root === 'testsuite' || root === 'testsuites');
  return whole ? tests : null;
}

/** Where a comment, a CDATA section or a declaration ends; -1 where it never does, null where none starts. */
function overSpecial(text: string, at: number): number | null {
  const kinds = [
    ['<!--', '-->'],
    ['<![CDATA[', ']]>'],
    ['<?', '?>'],
    ['<!', '>'],
  ] as const;
  const kind = kinds.find(([start]) => text.startsWith(start, at));
  if (kind === undefined) return null;
  const end = text.indexOf(kind[1], at + kind[0].length);
  return end < 0 ? -1 : end + kind[1].length;
}

function caseOf(attributes: ReadonlyMap<string, string>, suiteFile: string | null): Case {
  const file = attributes.get('file') ?? suiteFile;
  const names = [attributes.get('classname'), attributes.get('name')].filter((each) => each !== undefined);
  return { file, names: names.length === 0 ? ['(no name)'] : names, outcome: 'passed' };
}

function attributesOf(inside: string): ReadonlyMap<string, string> {
  return new Map(
    [...inside.matchAll(ATTRIBUTE)].map(([, key = '', double, single]) => [
      key,
      decoded(double ?? single ?? ''),
    ]),
  );
}

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal, hex, named) => {
    if (named !== undefined) return ENTITIES[named] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
