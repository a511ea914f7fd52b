/** Takes the tests out of whatever a test command left behind: report files first, else what it printed. */
import { readGoJson, readGoVerbose } from './go.js';
import { readJestJson } from './jest-json.js';
import { readJunitXml } from './junit-xml.js';
import { readLines } from './lines.js';
import { readCargo, readPytestVerbose } from './printed-lists.js';
import { readTap } from './tap.js';
import { identified, type ListedTest, type TestResult, type TestRunner } from './test-result.js';

type Reader = (text: string) => readonly ListedTest[] | null;

/** By the name that a report file gets from whoever asked for it. */
const FILES: readonly (readonly [RegExp, TestRunner, Reader])[] = [
  [/^node-.*\.lines$/, 'node:test', readLines],
  [/^mocha-.*\.lines$/, 'mocha', readLines],
  [/^vitest-.*\.jest\.json$/, 'vitest', readJestJson],
  [/^jest.*\.jest\.json$/, 'jest', readJestJson],
  [/^pytest.*\.xml$/, 'pytest', readJunitXml],
  [/\.xml$/, 'junit', readJunitXml],
  [/\.tap$/, 'tap', readTap],
];
const PRINTED: readonly (readonly [TestRunner, Reader])[] = [
  ['go', readGoJson],
  ['tap', readTap],
  ['cargo', readCargo],
  ['go', readGoVerbose],
  ['pytest', readPytestVerbose],
];

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
const ESCAPES = /\u001b\[[0-9;?]{0,20}[A-Za-z]/g;

/**
 * One result per test. `files` are report files by name; one that cannot be read makes the whole report null, as does a
 * run that lists no test at all. `printed` is the command's output, or null where it is not whole.
 */
export function readResults(
  files: ReadonlyMap<string, string>,
  printed: string | null,
): readonly TestResult[] | null {
  const listed = new Map<TestRunner, ListedTest[]>();
  for (const [name, text] of files) {
    const kind = FILES.find(([pattern]) => pattern.test(name));
    const tests = kind?.[2](text) ?? null;
    if (kind === undefined || tests === null) return null;
    listed.set(kind[1], [...(listed.get(kind[1]) ?? []), ...tests]);
  }
  if (listed.size === 0 && printed !== null) {
    const plain = printed.replace(ESCAPES, '').replace(/\r\n?/g, '\n');
    for (const [runner, read] of PRINTED) {
      const tests = read(plain);
      if (tests === null) continue;
      listed.set(runner, [...tests]);
      break;
    }
  }
  const results = [...listed].flatMap(([runner, tests]) =>
    identified(tests, runner).map((test) =>
      listed.size === 1 ? test : { ...test, id: `${runner}: ${test.id}` },
    ),
  );
  return results.length === 0 ? null : results;
}
