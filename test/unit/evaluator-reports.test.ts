import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { REPORT_FORMATS, type ReportFormat } from '../../src/domain/plan.js';
import { REPORT_HINTS, type ReportedBenchmark, readReport } from '../../src/evaluator/reports/read-report.js';
import { refusal, reportFixture } from '../support/report-fixtures.js';

/** Milliseconds by name, to 12 digits: enough to tell figures apart, blind to the last bit of a product. */
function figures(benchmarks: readonly ReportedBenchmark[]): Record<string, number> {
  return Object.fromEntries(benchmarks.map(({ name, msPerOp }) => [name, Number(msPerOp.toPrecision(12))]));
}

/** Worked out by hand from the files: the figure's place in the file, times its unit. */
const WORKED_OUT: readonly (readonly [ReportFormat, string, Record<string, number>])[] = [
  // median 0.011987723500000002 s and 0.001640702 s
  ['hyperfine', 'two-commands.json', { 'sleep 0.01': 11.9877235, 'seq 1 20000': 1.640702 }],
  // median 0.0014075190000000001 s and 0.001280932 s
  ['hyperfine', 'parameters.json', { 'seq 1000': 1.407519, 'seq 2000': 1.280932 }],
  // every run ended with 1
  ['hyperfine', 'ignored-failure.json', { 'false (exit code 1)': 0.984937 }],
  // the middle of 256.2 148.9 214.3; 1445 940.8 956.6; 517.1 330.1 416.3 ns
  [
    'go-bench',
    'count-3.txt',
    {
      'BenchmarkJoin/words-10': 0.0002143,
      'BenchmarkJoin/words-100': 0.0009566,
      BenchmarkRepeat: 0.0004163,
    },
  ],
  [
    'go-bench',
    'two-packages.txt',
    {
      'example.com/words/num BenchmarkSum': 0.003601,
      'example.com/words/text BenchmarkJoin/words-10': 0.0002218,
      'example.com/words/text BenchmarkJoin/words-100': 0.001791,
      'example.com/words/text BenchmarkRepeat': 0.000445,
    },
  ],
  // between 3706 and 3952; 222.5 and 205.7; 2125 and 1535; 370.5 and 490.6 ns
  [
    'go-bench',
    'two-packages.jsonl',
    {
      'example.com/words/num BenchmarkSum': 0.003829,
      'example.com/words/text BenchmarkJoin/words-10': 0.0002141,
      'example.com/words/text BenchmarkJoin/words-100': 0.00183,
      'example.com/words/text BenchmarkRepeat': 0.00043055,
    },
  ],
  // stats.median 4.798999725608155e-06, 3.696999920066446e-05, 4.15680005971808e-05 s
  [
    'pytest-benchmark',
    'words.json',
    {
      'test_bench.py::test_fib[8]': 0.00479899972561,
      'test_bench.py::test_fib[12]': 0.0369699992007,
      'test_bench.py::test_join': 0.0415680005972,
    },
  ],
  // [1.9245 µs 2.0558 µs 2.1652 µs], [… 19.850 ns …], [… 263.64 µs …]
  [
    'criterion',
    'cargo-bench.txt',
    {
      sum: 0.0020558,
      'sums of several sizes/sum/10': 0.00001985,
      'sums of several sizes/sum/100000': 0.26364,
    },
  ],
  [
    'criterion',
    'cargo-bench-with-change.txt',
    {
      sum: 0.0026523,
      'sums of several sizes/sum/10': 0.000016299,
      'sums of several sizes/sum/100000': 0.3727,
    },
  ],
  [
    'criterion',
    'bencher.txt',
    { sum: 0.001871, 'sums of several sizes/sum/10': 0.000019, 'sums of several sizes/sum/100000': 0.300575 },
  ],
  // median 2010 ns and 226 us
  ['criterion', 'messages.jsonl', { sum: 0.00201, 'sums of several sizes/sum/100000': 0.226 }],
  // median 0.020709000000010747, 0.12387200000000576, 0.11417400000004818 ms
  [
    'vitest-bench',
    'sort.json',
    {
      'sort.bench.mjs > join': 0.020709,
      'sort.bench.mjs > sorting > sort': 0.123872,
      'sort.bench.mjs > sorting > toSorted': 0.114174,
    },
  ],
  // the fourth of seven samples
  ['tinybench', 'v2-tasks.json', { sort: 0.108123, join: 0.017483 }],
  // Average Time (ns)
  ['tinybench', 'v2-table.json', { sort: 0.185362037037, join: 0.0235417376471 }],
  // Latency med (ns)
  ['tinybench', 'v3-table.json', { sort: 0.105072, join: 0.019115 }],
  ['tinybench', 'v4-table.json', { sort: 0.118963, join: 0.020508 }],
  ['tinybench', 'v5-table.json', { sort: 0.064707, join: 0.012734 }],
  ['tinybench', 'v6-table.json', { sort: 0.121387, join: 0.020138 }],
  // latency.p50
  ['tinybench', 'v4-tasks.json', { sort: 0.118963, join: 0.020508 }],
  ['tinybench', 'v6-tasks.json', { sort: 0.121387, join: 0.020138 }],
  ['tinybench', 'v6-flat.json', { sort: 0.121387, join: 0.020138 }],
  // p50 118633, 105658, 303.7041015625, 2835.1796875 ns
  [
    'mitata',
    'sorting.json',
    {
      'sorting > sort': 0.118633,
      'sorting > toSorted': 0.105658,
      'join 10': 0.000303704101562,
      'join 100': 0.0028351796875,
    },
  ],
  // cpu_time in ns, ns, us; real_time in ms
  [
    'google-benchmark',
    'once.json',
    {
      'BM_Copy/512': 0.0000444959891025,
      'BM_Copy/8192': 0.00511512457853,
      BM_Fill: 0.0133596627247,
      'BM_Wait/real_time': 1.07584119234,
    },
  ],
  // the entries whose aggregate_name is median
  [
    'google-benchmark',
    'aggregates-only.json',
    {
      'BM_Copy/512': 0.0000440050973043,
      'BM_Copy/8192': 0.00498453664017,
      BM_Fill: 0.0137099066306,
      'BM_Wait/real_time': 1.08943746153,
    },
  ],
  [
    'jmh',
    'words.json',
    {
      'org.example.WordsBenchmark.join (size=10)': 0.0125,
      'org.example.WordsBenchmark.join (size=100)': 0.11875,
      // 250 ops/ms; 4000 ns/op
      'org.example.WordsBenchmark.split [thrpt]': 0.004,
      'org.example.WordsBenchmark.split [avgt]': 0.004,
      // 8 ops/s
      'org.example.WordsBenchmark.parse': 125,
      'org.example.WordsBenchmark.load': 350,
      'org.example.WordsBenchmark.sample': 1.25,
    },
  ],
  // 88 ns; 400 operations per second; no measure of time in the others
  ['bencher', 'words.json', { 'words/join': 0.000088, 'words/parse': 2.5 }],
];

describe('a report', () => {
  it.each(WORKED_OUT)('of %s, %s, gives the figures worked out by hand', (format, file, expected) => {
    expect(figures(readReport(format, reportFixture(format, file)))).toEqual(expected);
  });

  it('of Google Benchmark gives wall time beside CPU time, unless the benchmark asks for wall time', () => {
    const [copy, , , wait] = readReport('google-benchmark', reportFixture('google-benchmark', 'once.json'));
    expect(copy?.wallMs).toBeCloseTo(44.95025235e-6, 12);
    expect(wait).not.toHaveProperty('wallMs');
  });

  it('of Google Benchmark is read by its median aggregate where it has repetitions, too', () => {
    const text = reportFixture('google-benchmark', 'repetitions.json');
    const without = JSON.parse(text);
    without.benchmarks = without.benchmarks.filter(
      (entry: { run_type: string }) => entry.run_type === 'iteration',
    );
    const read = readReport('google-benchmark', text);
    expect(read.map(({ name }) => name)).toEqual([
      'BM_Copy/512',
      'BM_Copy/8192',
      'BM_Fill',
      'BM_Wait/real_time',
    ]);
    // The tool's own median over three repetitions and ours agree.
    const ours = figures(readReport('google-benchmark', JSON.stringify(without)));
    for (const [name, ms] of Object.entries(figures(read))) expect(ours[name]).toBeCloseTo(ms, 12);
  });

  it('of Google Benchmark takes the median that the tool worked out, where it and repetitions stand together', () => {
    const run = { run_name: 'a', real_time: 9, time_unit: 'ms' };
    const benchmarks = [
      { ...run, run_type: 'aggregate', aggregate_name: 'median', cpu_time: 2 },
      { ...run, run_type: 'iteration', cpu_time: 3 },
      { ...run, run_type: 'aggregate', aggregate_name: 'mean', cpu_time: 4 },
    ];
    expect(figures(readReport('google-benchmark', JSON.stringify({ benchmarks })))).toEqual({ a: 2 });
  });

  it('is read behind the lines that npm prints and a byte order mark', () => {
    const text = reportFixture('bencher', 'words.json');
    expect(readReport('bencher', `\ufeff\n> words@1.0.0 bench\n> node bench.mjs\n\n${text}`)).toHaveLength(2);
  });

  it('of go keeps the processors in the names where they differ (-cpu 1,2)', () => {
    const text = 'BenchmarkGood     \t 12765\t 1799 ns/op\nBenchmarkGood-2   \t 10000\t 2843 ns/op\n';
    expect(figures(readReport('go-bench', text))).toEqual({
      BenchmarkGood: 0.001799,
      'BenchmarkGood-2': 0.002843,
    });
  });

  it('of go does not take a size behind a name for the processors', () => {
    const text = 'BenchmarkSort/size-10  100  20 ns/op\nBenchmarkSort/size-90  100  30 ns/op\n';
    expect(figures(readReport('go-bench', text))).toEqual({
      'BenchmarkSort/size-10': 0.00002,
      'BenchmarkSort/size-90': 0.00003,
    });
  });

  it('of go is read beside other metrics and logs', () => {
    const text = [
      'BenchmarkA',
      '    a_test.go:3: BenchmarkA logs',
      'BenchmarkA-8  100  99.5 MB/s  1200 ns/op  16 B/op  1 allocs/op',
      '--- BENCH: BenchmarkA-8',
      'PASS',
    ].join('\r\n');
    expect(figures(readReport('go-bench', text))).toEqual({ BenchmarkA: 0.0012 });
  });

  it('of libtest is read with thousands and without', () => {
    const text =
      '\nrunning 2 tests\ntest a::big ... bench:   1,234,567.25 ns/iter (+/- 56.1) = 12 MB/s\ntest b ... ignored\ntest c ... bench: 7 ns/iter (+/- 0)\n';
    expect(figures(readReport('criterion', text))).toEqual({ 'a::big': 1.23456725, c: 0.000007 });
  });

  it.each([
    ['an object of results by name', { sort: { latency: { p50: 2 } } }],
    ['tasks', { tasks: [{ name: 'sort', result: { latency: { p50: 2 } } }] }],
    ['results', { results: [{ name: 'sort', latency: { p50: 2 } }] }],
    ['a mean alone', [{ name: 'sort', hz: 500, mean: 2, samples: 12 }]],
  ])('of tinybench is understood as %s', (_, value) => {
    expect(figures(readReport('tinybench', JSON.stringify(value)))).toEqual({ sort: 2 });
  });

  it('tells benchmarks of one name apart by numbers, in order', () => {
    const same = { command: 'a', median: 1 };
    const text = JSON.stringify({ results: [same, { command: 'a #2', median: 1 }, same, same] });
    expect(readReport('hyperfine', text).map(({ name }) => name)).toEqual(['a', 'a #2', 'a #3', 'a #4']);
  });

  it('shortens long names and keeps them apart', () => {
    const long = 'x'.repeat(300);
    const results = [`${long}1`, `${long}2`, `${long}2`].map((command) => ({ command, median: 1 }));
    const names = readReport('hyperfine', JSON.stringify({ results })).map(({ name }) => name);
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name.length).toBeLessThanOrEqual(200);
  });

  it('may hold numbers that JSON has not, where nobody needs them', () => {
    const text = reportFixture('pytest-benchmark', 'words.json').replace(/"ops": [\d.e+-]+/g, '"ops": NaN');
    expect(text).toContain('NaN');
    expect(readReport('pytest-benchmark', text)).toHaveLength(3);
  });

  it('has a hint for every format', () => {
    expect(Object.keys(REPORT_HINTS)).toEqual([...REPORT_FORMATS]);
    const documentation = readFileSync('docs/benchmarks.md', 'utf8');
    for (const format of REPORT_FORMATS) expect(documentation).toContain(`\`${format}\``);
  });
});

describe('a report with a benchmark that failed', () => {
  it.each([
    ['go-bench', 'failed.txt', 'BenchmarkBad', 'line 6'],
    ['go-bench', 'failed.jsonl', 'BenchmarkBad', 'line 9'],
    ['vitest-bench', 'failed.json', 'bad', 'line 34'],
    ['tinybench', 'v6-failed.json', 'bad', '[0].result'],
    ['tinybench', 'v6-failed-table.json', 'bad', 'failed: no'],
    ['mitata', 'failed.json', 'bad', 'failed: no'],
    ['google-benchmark', 'failed.json', 'BM_Broken', 'failed: no input file'],
  ] as const)('of %s, %s, is refused by its name', (format, file, name, place) => {
    const error = refusal(format, reportFixture(format, file));
    expect(error.code).toBe('REPORT_BENCHMARK_FAILED');
    expect(error.message).toContain(`the benchmark "${name}" failed`);
    expect(error.message).toContain(place);
  });

  it.each([
    [
      'hyperfine',
      JSON.stringify({ results: [{ command: 'a', median: 1, exit_codes: [0, 1] }] }),
      'different exit codes, 0, 1',
    ],
    [
      'hyperfine',
      JSON.stringify({ results: [{ command: 'a', median: 1, exit_codes: [null] }] }),
      'by a signal',
    ],
    ['criterion', 'test a ... FAILED\n', 'FAILED'],
    ['go-bench', 'FAIL\ta [build failed]\n', 'build failed'],
    ['tinybench', JSON.stringify([{ name: 'a', result: { state: 'not-started' } }]), 'not-started'],
  ] as const)('of %s is refused: %s', (format, text, why) => {
    const error = refusal(format, text);
    expect(error.code).toBe('REPORT_BENCHMARK_FAILED');
    expect(error.message).toContain('"a');
    expect(error.message).toContain(why);
  });
});
