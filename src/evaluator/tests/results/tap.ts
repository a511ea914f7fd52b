/** Reads TAP, versions 12 to 14, with the subtests of node-tap and node:test and the comments that tape names tests by. */
import { type ListedTest, MOST_TESTS, type TestOutcome } from './test-result.js';

const TEST = /^( {0,400})(not )?ok\b(?: {1,4}(\d{1,9}))?(?: {1,4}- | {1,4}|$)(.*)$/;
const SUBTEST = /^( {0,400})# Subtest: (.*)$/;
const PLAN = /^ {0,400}1\.\.\d{1,9}(?: |$)/;
const VERSION = /^ {0,400}TAP version 1[234] *$/;
const COMMENT = /^# (.*)$/;
const SUMMARY =
  /^(?:(?:tests|pass|fail|ok|skip|skipped|todo|suites|cancelled|duration_ms)(?:\s|:|$)|failed \d|time=|\{ total|No coverage)/;
const DIRECTIVE = / # (skip|todo)\b.*$/i;
/** Times that runners write behind a name. */
const TIME = / # time=[0-9.]+m?s *$/;
const INDENT = 4;

/** Null where the text has neither TAP's version line nor its plan, or no test. Text around it is passed over. */
export function readTap(text: string): readonly ListedTest[] | null {
  const tests: ListedTest[] = [];
  const groups: string[] = [];
  let comment: string | null = null;
  let marked = false;
  let yamlIndent: string | null = null;
  for (const line of text.split('\n')) {
    if (yamlIndent !== null) {
      if (line.trimEnd() === `${yamlIndent}...`) yamlIndent = null;
      if (yamlIndent === null || line.startsWith(yamlIndent) || line.trim() === '') continue;
      yamlIndent = null;
    }
    const opening = /^( {1,400})---\s*$/.exec(line);
    if (opening !== null && tests.length > 0) {
      yamlIndent = opening[1] ?? '';
      continue;
    }
    marked ||= PLAN.test(line) || VERSION.test(line);
    const subtest = SUBTEST.exec(line);
    if (subtest !== null) {
      const depth = Math.floor((subtest[1]?.length ?? 0) / INDENT);
      groups.length = Math.min(groups.length, depth);
      groups[depth] = unescaped(subtest[2] ?? '');
      continue;
    }
    const test = TEST.exec(line);
    if (test === null) {
      const words = COMMENT.exec(line)?.[1];
      if (words !== undefined && !SUMMARY.test(words)) comment = words;
      continue;
    }
    const listed = listedTest(test, groups, comment);
    if (listed !== null) tests.push(listed);
    if (tests.length > MOST_TESTS) return null;
  }
  return marked && tests.length > 0 ? tests : null;
}

function listedTest(match: RegExpExecArray, groups: string[], comment: string | null): ListedTest | null {
  const depth = Math.floor((match[1]?.length ?? 0) / INDENT);
  const words = (match[4] ?? '').replace(TIME, '').replace(/ \{$/, '');
  const directive = DIRECTIVE.exec(words) ?? DIRECTIVE.exec(` ${words}`);
  const name = unescaped(words.replace(DIRECTIVE, '').replace(/^# (?:skip|todo)\b.*$/i, '')).trim();
  const around = Array.from({ length: Math.min(depth, groups.length) }, (_, at) => groups[at] ?? '');
  const ending = groups.length > depth && groups[depth] === name;
  groups.length = Math.min(groups.length, depth);
  const outer = around[0] ?? (ending ? name : undefined);
  const file = outer !== undefined && /^[^\s:]{1,400}\.[a-z]{1,4}$/i.test(outer) ? outer : null;
  const named = depth === 0 && !ending && comment !== null ? [comment] : around;
  const names = [...named, name === '' ? '(no name)' : name];
  return {
    file,
    names: file !== null && names.length > 1 ? names.slice(1) : names,
    outcome: outcomeOf(match[2], directive),
  };
}

function outcomeOf(not: string | undefined, directive: RegExpExecArray | null): TestOutcome {
  if (directive !== null) return 'skipped';
  return not === undefined ? 'passed' : 'failed';
}

function unescaped(text: string): string {
  return text.replace(/\\([#\\])/g, '$1');
}
