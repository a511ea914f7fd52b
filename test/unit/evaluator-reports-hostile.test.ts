import { readdirSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REPORT_FORMATS, type ReportFormat } from '../../src/domain/plan.js';
import { checkJsonSyntax, offsetOfPath } from '../../src/evaluator/reports/json-places.js';
import { MAX_REPORT_CHARS, readReport } from '../../src/evaluator/reports/read-report.js';
import { StepFailed } from '../../src/evaluator/step-failed.js';
import { refusal, reportFixture } from '../support/report-fixtures.js';

const FIXTURES = REPORT_FORMATS.flatMap((format) =>
  readdirSync(`fixtures/reports/${format}`).map((file) => [format, file] as const),
);

/** Either a refusal of ours, or benchmarks as promised. */
function expectHonest(format: ReportFormat, text: string): void {
  let benchmarks: ReturnType<typeof readReport>;
  try {
    benchmarks = readReport(format, text);
  } catch (error) {
    expect(error).toBeInstanceOf(StepFailed);
    if (error instanceof StepFailed) {
      expect(error.code).toMatch(/^REPORT_(UNREADABLE|BENCHMARK_FAILED)$/);
      expect(error.message).toContain(format);
      expect(error.message).toMatch(/line \d+/);
      expect(error.message.length).toBeLessThan(1000);
      expect(error.evidence.length).toBeLessThan(9000);
    }
    return;
  }
  expect(benchmarks.length).toBeGreaterThan(0);
  expect(benchmarks.length).toBeLessThanOrEqual(200);
  expect(new Set(benchmarks.map(({ name }) => name)).size).toBe(benchmarks.length);
  for (const { name, msPerOp, wallMs = 1 } of benchmarks) {
    expect(name.length).toBeGreaterThan(0);
    expect(name.length).toBeLessThanOrEqual(200);
    for (const figure of [msPerOp, wallMs]) {
      expect(Number.isFinite(figure)).toBe(true);
      expect(figure).toBeGreaterThan(0);
    }
  }
}

describe('a damaged report', () => {
  it.each(FIXTURES)('of %s, %s, cut anywhere, is refused or gives sane figures', (format, file) => {
    const text = reportFixture(format, file);
    fc.assert(
      fc.property(fc.nat(text.length), (end) => expectHonest(format, text.slice(0, end))),
      { numRuns: 60 },
    );
  });

  it.each(FIXTURES)(
    'of %s, %s, with a character changed, is refused or gives sane figures',
    (format, file) => {
      const text = reportFixture(format, file);
      const character = fc.oneof(
        fc.constantFrom('0', '-', 'e', '.', '"', '{', '}', '[', ']', ',', '\n', ' ', '\\', '\0', '\ud800'),
        fc.string({ unit: 'binary', minLength: 0, maxLength: 1 }),
      );
      fc.assert(
        fc.property(fc.nat(text.length - 1), character, (at, other) =>
          expectHonest(format, text.slice(0, at) + other + text.slice(at + 1)),
        ),
        { numRuns: 100 },
      );
    },
  );

  const WITH_NUMBERS = FIXTURES.filter(([format, file]) => /\d/.test(reportFixture(format, file)));

  it.each(WITH_NUMBERS)(
    'of %s, %s, with a number changed, is refused or gives sane figures',
    (format, file) => {
      const text = reportFixture(format, file);
      const numbers = [...text.matchAll(/\d+(?:\.\d+)?(?:e-?\d+)?/g)];
      const other = fc.constantFrom(
        '0',
        '-1',
        '1e999',
        '1e-400',
        '1e308',
        '5e-324',
        'NaN',
        'Infinity',
        'null',
      );
      fc.assert(
        fc.property(fc.nat(numbers.length - 1), other, (index, number) => {
          const at = numbers[index]?.index ?? 0;
          const length = numbers[index]?.[0].length ?? 0;
          expectHonest(format, text.slice(0, at) + number + text.slice(at + length));
        }),
        { numRuns: 60 },
      );
    },
  );

  it.each(REPORT_FORMATS)('of %s may be any text or any JSON', (format) => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json({ maxDepth: 4 })), (text) => expectHonest(format, text)),
      { numRuns: 100 },
    );
  });

  it.each(REPORT_FORMATS)('of %s that was made to be slow is refused soon', (format) => {
    const texts = [
      '['.repeat(300_000),
      `[${'0,'.repeat(300_000)}0]`,
      `{"results":[${'{"command":1},'.repeat(20_000)}0],"benchmarks":[${'[],'.repeat(20_000)}0]}`,
      ' '.repeat(300_000),
      `Benchmark ${'1 '.repeat(200_000)}ns/op`,
      'Benchmark-1 1 \n'.repeat(20_000),
      `test ${' ... '.repeat(100_000)}`,
      `time: ${' ['.repeat(100_000)}`,
      `${'time:   [1 '.repeat(300)}\n`.repeat(300),
      '{"reason":"x"}\n'.repeat(20_000),
    ];
    for (const text of texts) {
      const start = performance.now();
      expectHonest(format, text);
      expect(performance.now() - start).toBeLessThan(5000);
    }
  });

  it('is refused where it is too long', () => {
    expect(refusal('hyperfine', ' '.repeat(MAX_REPORT_CHARS + 1)).message).toContain(
      'at most 33554432 characters',
    );
  });
});

describe('the first bad place', () => {
  const results = (...list: unknown[]) => JSON.stringify({ results: list }, null, 2);
  const good = { command: 'a', median: 0.5 };

  it.each([
    [
      'a number that is missing',
      results(good, good, { command: 'b' }),
      'line 11, column 5 (results[2].median)',
      'nothing: results[2].median is missing',
    ],
    [
      'a number that is null',
      results(good, { command: 'b', median: null }),
      'line 9, column 17 (results[1].median)',
      'came null',
    ],
    [
      'a number that is text',
      results({ command: 'b', median: '0.5' }),
      'line 5, column 17 (results[0].median)',
      'came "0.5"',
    ],
    [
      'a number below 0',
      results({ command: 'b', median: -1 }),
      'line 5, column 17 (results[0].median)',
      'came -1',
    ],
    ['an empty name', results({ command: ' ', median: 1 }), 'line 3, column 5 (results[0])', 'an empty name'],
    [
      'two bad values',
      results({ median: null, command: 4 }),
      'line 4, column 17 (results[0].median)',
      'came null',
    ],
    [
      'a list that is missing',
      '{}',
      'line 1, column 1 (results)',
      'expected a list of results, came nothing',
    ],
    [
      'an empty list',
      '{\n "results": [] }',
      'line 2, column 13 (results)',
      'expected at least one benchmark',
    ],
    [
      'an end that came too early',
      '{"results": [\n{"command": "a",',
      'line 2, column 17',
      'expected a key in double quotes, came the end of the text',
    ],
    [
      'a comma that is missing',
      '{"results": []\n "a": 1}',
      'line 2, column 2',
      'expected "," or "}", came "\\"a\\": 1}"',
    ],
    [
      'text behind the report',
      '{"results": []}\nDone in 1 s',
      'line 2, column 1',
      'expected the end of the report, came "Done in 1 s"',
    ],
    ['no JSON at all', 'Benchmark 1: a', 'line 1, column 1', 'expected a JSON value, came "Benchmark 1: a"'],
    [
      'a number that JSON has not',
      '{"results": [{"command": "a", "median": NaN}]}',
      'line 1, column 41 (results[0].median)',
      'came NaN',
    ],
  ])('in JSON is shown: %s', (_, text, place, came) => {
    const error = refusal('hyperfine', text);
    expect(error.code).toBe('REPORT_UNREADABLE');
    expect(error.message).toContain(`The hyperfine report cannot be read at ${place}`);
    expect(error.message).toContain(came);
    expect(error.message).toContain('hyperfine --export-json');
  });

  it.each([
    ['go-bench', 'PASS\nBenchmarkA-8  100  12 ms/op\n', 'line 2', 'came "BenchmarkA-8 100 12 ms/op"'],
    ['go-bench', 'BenchmarkA-8  100  0.0 ns/op\n', 'line 1', 'nanoseconds above 0'],
    ['go-bench', 'BenchmarkA-8  \thello\n  100\t 12 ns/op\n', 'line 2', "starts with the benchmark's name"],
    ['go-bench', '\ngoos: linux\nPASS\n', 'line 2', 'came "goos: linux"'],
    ['go-bench', '{"Action":"start"}\n{"Output":"Benchma\n', 'line 2, column 19', 'the closing quote'],
    ['go-bench', '{"Action":"start"}\n{"Output":7}\n', 'line 2, column 11 (Output)', 'came 7'],
    ['criterion', 'a\n    time:   [1.2 parsecs 2 ns 3 ns]\n', 'line 2', 'three times'],
    ['criterion', 'sum  time:   [1.2 ns 2 cycles 3 ns]\n', 'line 1', 'three times'],
    ['criterion', 'test a ... bench: many ns/iter\n', 'line 1', 'ns/iter'],
    ['criterion', '\n{"reason":"benchmark-complete","id":"a"}', 'line 2, column 1 (median)', 'is missing'],
    ['criterion', 'running 0 tests\n', 'line 1', 'at least one benchmark'],
  ] as const)('in %s is shown: %s', (format, text, place, came) => {
    const error = refusal(format, text);
    expect(error.code).toBe('REPORT_UNREADABLE');
    expect(error.message).toContain(`cannot be read at ${place}: expected`);
    expect(error.message).toContain(came);
  });

  it('stands in the evidence among its neighbours', () => {
    const { evidence } = refusal('hyperfine', results(good, { command: 'b', median: null }));
    expect(evidence).toContain('  8 |       "command": "b",\n> 9 |       "median": null\n  10 |     }');
  });

  it('of an empty report is its start', () => {
    for (const format of REPORT_FORMATS)
      expect(refusal(format, ' \n').message).toContain(
        'at line 1, column 1: expected a report, came an empty text',
      );
  });

  it('is the benchmark after the two hundredth', () => {
    const list = Array.from({ length: 201 }, () => good);
    expect(refusal('hyperfine', JSON.stringify({ results: list })).message).toContain('(results[200])');
  });
});

describe('places in JSON', () => {
  it('are wrong exactly where JSON.parse refuses', () => {
    const change = fc.constantFrom(
      '',
      '0',
      '-',
      '.',
      'e',
      '"',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '\\',
      '\t',
      'u',
      'null',
    );
    fc.assert(
      fc.property(fc.json(), fc.nat(), change, (json, where, other) => {
        const at = where % json.length;
        const text = json.slice(0, at) + other + json.slice(at + 1);
        const { problem } = checkJsonSyntax(text, 0);
        let parses = true;
        try {
          JSON.parse(text);
        } catch {
          parses = false;
        }
        expect(problem === null).toBe(parses);
      }),
      { numRuns: 2000 },
    );
  });

  it('are found by path, the last of members of one name', () => {
    const text = '{"a": [1, {"b\\n": "]}", "c": {}}], "a" : [ {}, [], "x" ] }';
    expect(text.slice(offsetOfPath(text, 0, ['a', 2]))).toBe('"x" ] }');
    expect(text.slice(offsetOfPath(text, 0, ['a', 7]))).toBe('[ {}, [], "x" ] }');
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), fc.nat(), (list, which) => {
        const index = which % list.length;
        const json = JSON.stringify(list, null, 1);
        const rest = json.slice(offsetOfPath(json, 0, [index]));
        expect(JSON.parse(`[${rest}`)).toEqual(JSON.parse(JSON.stringify(list.slice(index))));
      }),
    );
  });
});
