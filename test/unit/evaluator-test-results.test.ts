import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareBaseRuns,
  lostTests,
  unexplainedFailures,
} from '../../src/evaluator/tests/compare-results.js';
import { unwrapped } from '../../src/evaluator/tests/report-wrapper.js';
import { goText, readGoJson, readGoVerbose } from '../../src/evaluator/tests/results/go.js';
import { readJestJson } from '../../src/evaluator/tests/results/jest-json.js';
import { readJunitXml } from '../../src/evaluator/tests/results/junit-xml.js';
import { readLines } from '../../src/evaluator/tests/results/lines.js';
import { readCargo, readPytestVerbose } from '../../src/evaluator/tests/results/printed-lists.js';
import { readResults } from '../../src/evaluator/tests/results/read-results.js';
import { readTap } from '../../src/evaluator/tests/results/tap.js';
import { identified, type TestResult } from '../../src/evaluator/tests/results/test-result.js';
import { expandedCommand } from '../../src/evaluator/tests/test-command.js';

const FOLDER = new URL('../../fixtures/test-reports/', import.meta.url);
const ODD = 'takes "quotes", <tags> & ümläuts › here';

function fixture(path: string): string {
  return readFileSync(new URL(path, FOLDER), 'utf8');
}

function inFile(name: string, text: string) {
  return shown(readResults(new Map([[name, text]]), null));
}

function printed(text: string) {
  return shown(readResults(new Map(), text));
}

function shown(results: readonly TestResult[] | null) {
  return results === null ? null : Object.fromEntries(results.map(({ id, outcome }) => [id, outcome]));
}

const LIST = {
  'test/list.test.js › list › adds up': 'passed',
  [`test/list.test.js › list › ${ODD}`]: 'passed',
  'test/list.test.js › list › waits': 'skipped',
  'test/list.test.js › list › fails': 'failed',
  'test/list.test.js › list › inner › adds up': 'passed',
  'test/other.test.js › later': 'skipped',
};

describe('real reports', () => {
  it.each(readdirSync(new URL('vitest/', FOLDER)))('reads what vitest %s wrote', (file) => {
    expect(inFile('vitest-7.jest.json', fixture(`vitest/${file}`))).toEqual({
      ...LIST,
      'test/other.test.js › alone': 'passed',
      'test/other.test.js › expected': 'passed',
      'test/broken.test.js › (the file itself)': 'failed',
    });
  });

  it.each(readdirSync(new URL('jest/', FOLDER)))('reads what jest %s wrote', (file) => {
    expect(inFile('jest-7.jest.json', fixture(`jest/${file}`))).toEqual({
      ...LIST,
      'test/other.test.js › alone': 'passed',
      'test/broken.test.js › (the file itself)': 'failed',
    });
  });

  it.each(readdirSync(new URL('mocha/', FOLDER)))('reads the lines from mocha %s', (file) => {
    expect(inFile('mocha-7.lines', fixture(`mocha/${file}`))).toEqual({
      'test/list.js › list › adds up': 'passed',
      [`test/list.js › list › ${ODD}`]: 'passed',
      'test/list.js › list › waits': 'skipped',
      'test/list.js › list › fails': 'failed',
      'test/list.js › list › inner › adds up': 'passed',
      'test/other.js › alone': 'passed',
      'test/other.js › later': 'skipped',
    });
  });

  it('reads the lines from node:test, with files that cannot be loaded or hold no test', () => {
    expect(inFile('node-7.lines', fixture('node-test/20.20.2.lines'))).toEqual({
      ...LIST,
      'test/other.test.js › alone': 'passed',
      'test/other.test.js › alone › child': 'passed',
      'test/broken.test.js': 'failed',
      'test/empty.test.js': 'passed',
    });
  });

  it('reads the TAP that node:test prints', () => {
    expect(printed(fixture('node-test/20.20.2.tap'))).toMatchObject({
      'list › adds up': 'passed',
      [`list › ${ODD}`]: 'passed',
      'list › waits': 'skipped',
      'list › fails': 'failed',
      'list › inner › adds up': 'passed',
      'list › inner': 'passed',
      list: 'failed',
      'alone › child': 'passed',
      later: 'skipped',
    });
  });

  it.each(readdirSync(new URL('tap/', FOLDER)))('reads the TAP of node-tap %s', (file) => {
    const results = printed(fixture(`tap/${file}`));
    expect(results).toMatchObject({
      'test/list.js › list › adds up': 'passed',
      'test/list.js › list › inner › adds # up': 'passed',
      'test/list.js › list › inner': 'passed',
      'test/list.js › list › waits': 'skipped',
      'test/list.js › list › fails': 'failed',
      'test/list.js › list': 'failed',
      'test/list.js › list two': 'passed',
      'test/list.js › alone': 'passed',
      'test/list.js › later': 'skipped',
      'test/other.js › x': 'passed',
    });
    // The assertions without a name, and the two files themselves.
    expect(Object.keys(results ?? {})).toHaveLength(15);
    expect(results).toMatchObject({ 'test/list.js': 'failed', 'test/other.js': 'passed' });
  });

  it('reads the TAP of ava, whose names hold the file', () => {
    expect(printed(fixture('ava/6.4.1.tap'))).toMatchObject({
      'list › adds up': 'passed',
      'list › takes # hashes › here': 'passed',
      'list › fails': 'failed',
      'list › waits': 'skipped',
      'other › later': 'skipped',
    });
  });

  it('reads the TAP of tape, naming each assertion by the test above it', () => {
    expect(printed(fixture('tape/5.10.2.tap'))).toEqual({
      'list › adds up': 'passed',
      'list › adds up (2)': 'passed',
      'list › should be truthy': 'passed',
      'list › fails # here': 'failed',
      'hi › x': 'skipped',
    });
  });

  it('reads what go prints, as events and as text', () => {
    const all = {
      'example.org/list › TestAddsUp': 'passed',
      'example.org/list › TestTakes': 'passed',
      'example.org/list › TestTakes/quotes_"_and_<tags>': 'passed',
      'example.org/list › TestTakes/inner': 'passed',
      'example.org/list › TestTakes/inner/deep': 'passed',
      'example.org/list › TestWaits': 'skipped',
      'example.org/list › TestFails': 'failed',
      'example.org/list/sub › TestAddsUp': 'passed',
    };
    expect(printed(fixture('go/1.19.8.json'))).toEqual(all);
    expect(printed(fixture('go/1.19.8.txt'))).toEqual(all);
    expect(goText(fixture('go/1.19.8.json'))).toContain('--- FAIL: TestFails (0.00s)');
    expect(goText(fixture('go/1.19.8.json'))).not.toContain('"Action"');
  });

  it('reads the JUnit XML of pytest, and the list of pytest -v', () => {
    const xml = inFile('pytest.xml', fixture('pytest/7.2.1.xml'));
    expect(xml).toMatchObject({
      'tests/test_list.py › tests.test_list › test_adds_up': 'passed',
      'tests/test_list.py › tests.test_list › test_takes[a::b]': 'passed',
      'tests/test_list.py › tests.test_list › test_waits': 'skipped',
      'tests/test_list.py › tests.test_list › test_fails': 'failed',
      'tests/test_list.py › tests.test_list.TestInner › test_adds_up': 'passed',
    });
    expect(Object.keys(xml ?? {})[1]).toContain('test_takes["quotes" <tags> & ');
    expect(printed(fixture('pytest/7.2.1.txt'))).toMatchObject({
      'tests/test_list.py › test_adds_up': 'passed',
      'tests/test_list.py › test_waits': 'skipped',
      'tests/test_list.py › test_fails': 'failed',
      'tests/test_list.py › TestOld › test_adds_up': 'passed',
    });
  });

  it('reads what cargo prints, without line numbers that move', () => {
    expect(printed(fixture('cargo/1.95.0.txt'))).toEqual({
      'tests::adds_up': 'passed',
      'tests::panics': 'passed',
      'tests::waits': 'skipped',
      'tests::fails': 'failed',
      adds_up: 'passed',
      'src/lib.rs - add': 'passed',
    });
  });
});

describe('reports that are not whole', () => {
  it.each([
    ['vitest-1.jest.json', 'vitest/4.1.12.jest.json'],
    ['jest-1.jest.json', 'jest/30.5.2.jest.json'],
    ['pytest.xml', 'pytest/7.2.1.xml'],
  ])('takes no test out of %s when it is cut anywhere', (name, path) => {
    const text = fixture(path).trimEnd();
    for (let end = 0; end < text.length; end += 97) expect(inFile(name, text.slice(0, end))).toBeNull();
  });

  it('takes nothing out of files of which one cannot be read', () => {
    const good = '["passed","a.js",["x"]]\n';
    const files = (more: string) =>
      new Map([
        ['node-1.lines', good],
        ['node-2.lines', more],
      ]);
    expect(readResults(files(good), null)).toHaveLength(2);
    expect(readResults(files('["passed","a.js"'), null)).toBeNull();
    expect(readResults(files('["excellent","a.js",["x"]]'), null)).toBeNull();
  });

  it('finds no tests in words around none', () => {
    for (const text of ['', 'ok\nnot ok\n', '1..3\n', 'test result: great', '<testsuite/>', 'PASS all']) {
      expect(printed(text)).toBeNull();
    }
  });

  it('does not take what a diagnostic block holds for a test', () => {
    const text =
      'TAP version 13\nnot ok 1 - a\n  ---\n  source: |\n    ok 7 - forged\n  ...\nok 2 - b\n1..2\n';
    expect(printed(text)).toEqual({ a: 'failed', b: 'passed' });
  });
});

describe('readers under any text', () => {
  const READERS = {
    readLines,
    readJestJson,
    readJunitXml,
    readTap,
    readGoJson,
    readGoVerbose,
    readCargo,
    readPytestVerbose,
  };
  const bits = fc.constantFrom(
    ...[
      'ok 1 - a',
      'not ok',
      '  ---',
      '  ...',
      '# Subtest: x',
      '1..2',
      '<testsuite>',
      '<testcase name="a">',
      '</testcase>',
    ],
    ...[
      '<![CDATA[',
      '<failure/>',
      '{"Action":"pass","Package":"p","Test":"t"}',
      '--- PASS: T (0.00s)',
      'ok  \tp\t0.1s',
    ],
    ...[
      'test a ... ok',
      'test result: ok. 1 passed; ',
      'a.py::b PASSED',
      '["passed","a",["b"]]',
      '{"testResults":[]}',
      '\u001b[31m',
    ],
  );
  const text = fc.array(fc.oneof(bits, fc.string()), { maxLength: 30 }).map((lines) => lines.join('\n'));

  it.each(Object.entries(READERS))('%s never throws', (_, reader) => {
    fc.assert(
      fc.property(text, (input) => {
        const tests = reader(input);
        expect(tests === null || Array.isArray(tests)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('gets through megabytes of one character quickly', () => {
    const started = performance.now();
    for (const piece of [' ', '<', '# ', 'ok ', '"', '[', 'test ', '<a ', '::', '&']) {
      const input = piece.repeat(400_000 / piece.length);
      for (const reader of Object.values(READERS)) reader(input);
    }
    expect(performance.now() - started).toBeLessThan(3000);
  });

  it('keeps names of any characters', () => {
    const names = fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(names, (titles) => {
        expect(readLines(JSON.stringify(['passed', 'a.js', titles]))).toEqual([
          { file: 'a.js', names: titles, outcome: 'passed' },
        ]);
        const report = {
          testResults: [
            {
              name: 'a.js',
              status: 'passed',
              assertionResults: [
                { ancestorTitles: titles.slice(0, -1), title: titles.at(-1), status: 'passed' },
              ],
            },
          ],
        };
        expect(readJestJson(JSON.stringify(report))).toMatchObject([{ names: titles }]);
      }),
    );
  });

  it('undoes the escapes of XML in any name', () => {
    const escaped = (name: string) =>
      [...name]
        .map((each) => (/[\w ]/.test(each) ? each : `&#x${each.codePointAt(0)?.toString(16)};`))
        .join('');
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (name) => {
        const xml = `<testsuite><testcase name="${escaped(name)}"/></testsuite>`;
        expect(readJunitXml(xml)).toEqual([{ file: null, names: [name], outcome: 'passed' }]);
      }),
    );
  });

  it('gives every test an id of its own', () => {
    const test = fc.record({
      file: fc.constantFrom('a.js', '/ws/a.js', null),
      names: fc.array(fc.constantFrom('x', 'y', 'x (2)'), { minLength: 1, maxLength: 2 }),
      outcome: fc.constantFrom('passed' as const, 'failed' as const),
    });
    fc.assert(
      fc.property(fc.array(test), (tests) => {
        const results = identified(tests, 'jest');
        expect(results).toHaveLength(tests.length);
        expect(new Set(results.map(({ id }) => id)).size).toBe(tests.length);
      }),
    );
  });
});

describe('comparing tests', () => {
  const results = (outcomes: Record<string, TestResult['outcome']>): readonly TestResult[] =>
    Object.entries(outcomes).map(([id, outcome]) => ({ id, file: null, outcome, runner: 'jest' }));
  const base = compareBaseRuns(
    results({ a: 'passed', b: 'passed', c: 'failed', d: 'skipped', e: 'passed', f: 'failed' }),
    results({ a: 'passed', b: 'failed', c: 'failed', d: 'skipped', f: 'passed', g: 'passed' }),
  );

  it('counts what passes twice, and names what is flaky or failing', () => {
    expect(base).toEqual({ passing: ['a'], flaky: ['b', 'e', 'f', 'g'], failing: ['c'] });
  });

  it.each([
    ['passed', []],
    ['failed', [{ id: 'a', how: 'fails' }]],
    ['skipped', [{ id: 'a', how: 'is skipped' }]],
  ] as const)('says how a test that %s on the patch was lost', (outcome, lost) => {
    expect(lostTests(base, results({ a: outcome, b: 'failed', c: 'failed' }))).toEqual(lost);
  });

  it('says that a test is missing', () => {
    expect(lostTests(base, results({ b: 'passed' }))).toEqual([{ id: 'a', how: 'is missing' }]);
  });

  it('explains failures of flaky and failing tests alone', () => {
    const patch = results({ b: 'failed', c: 'failed', d: 'failed', h: 'failed', a: 'failed' });
    expect(unexplainedFailures(base, patch)).toEqual(['d', 'h', 'a']);
  });
});

describe('the report behind the output', () => {
  it('is only taken behind the nonce, and the output is given without it', () => {
    expect(unwrapped('text\nother report\nAAAA\n', 'nonce')).toEqual({
      printed: 'text\nother report\nAAAA\n',
      files: null,
    });
    expect(unwrapped('text\nnonce report\nnot base64 of gzip\n', 'nonce')).toEqual({
      printed: 'text',
      files: null,
    });
  });
});

describe('the scripts behind a test command', () => {
  const manifest = JSON.stringify({
    scripts: {
      test: 'npm run lint && pnpm unit',
      pretest: 'tsc',
      unit: 'node --test',
      lint: 'eslint .',
      other: 'x',
    },
  });

  it.each(['npm test', 'npm t', 'yarn test', 'pnpm run test', 'npm run --silent test'])(
    'are found for %s',
    (command) => {
      expect(expandedCommand(command, manifest).split('\n')).toEqual(
        expect.arrayContaining([command, 'tsc', 'eslint .', 'node --test']),
      );
      expect(expandedCommand(command, manifest)).not.toContain('\nx');
    },
  );

  it('are none for another command, or without a manifest that can be read', () => {
    expect(expandedCommand('make test', manifest)).toBe('make test');
    expect(expandedCommand('npm test', '{ broken')).toBe('npm test');
    expect(expandedCommand('npm test', '{"scripts":{"test":"npm test"}}')).toBe('npm test\nnpm test');
  });
});
