/** Reads the tests that cargo and `pytest -v` list in their usual output. */
import { type ListedTest, MOST_TESTS, type TestOutcome } from './test-result.js';

const CARGO = /^test (.{1,2000}) \.\.\. (ok|FAILED|ignored)(?:,.{0,200}| <[0-9.]{1,12}s>)?$/;
const CARGO_END = /^test result: (?:ok|FAILED)\. \d{1,9} passed; /m;
const PYTEST =
  /^(\S{1,600}\.py)::(.{1,2000}?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \(.{0,500}\))?(?: {1,200}\[ {0,2}\d{1,3}%\])?$/;

/** Null where cargo's summary is missing. Line numbers of documentation tests are left out, since they move. */
export function readCargo(text: string): readonly ListedTest[] | null {
  if (!CARGO_END.test(text)) return null;
  const outcomes: Readonly<Record<string, TestOutcome>> = {
    ok: 'passed',
    FAILED: 'failed',
    ignored: 'skipped',
  };
  return matches(text, CARGO, ([, name = '', word = '']) => ({
    file: null,
    names: [name.replace(/ - should panic$/, '').replace(/ \(line \d{1,9}\)/, '')],
    outcome: outcomes[word] ?? 'failed',
  }));
}

/** Null where no line lists a test. */
export function readPytestVerbose(text: string): readonly ListedTest[] | null {
  return matches(text, PYTEST, ([, file = '', name = '', word = '']) => ({
    file,
    names: name.split('::'),
    outcome:
      word === 'PASSED' || word === 'XPASS'
        ? 'passed'
        : word === 'SKIPPED' || word === 'XFAIL'
          ? 'skipped'
          : 'failed',
  }));
}

function matches(
  text: string,
  line: RegExp,
  listed: (match: RegExpExecArray) => ListedTest,
): readonly ListedTest[] | null {
  const tests: ListedTest[] = [];
  for (const each of text.split('\n')) {
    const match = line.exec(each.trimEnd());
    if (match !== null) tests.push(listed(match));
    if (tests.length > MOST_TESTS) return null;
  }
  return tests.length === 0 ? null : tests;
}
