/** How each tool is asked for the report that Hasten reads; shown in the documentation and in error messages. */
import type { ReportFormat } from '../../domain/plan.js';

export const REPORT_HINTS: Readonly<Record<ReportFormat, string>> = {
  hyperfine: 'hyperfine --export-json report.json COMMAND',
  'go-bench': "go test -run '^$' -bench . ./... (or the same with -json)",
  'pytest-benchmark': 'pytest --benchmark-only --benchmark-json=report.json',
  criterion: 'cargo criterion --message-format=json (or the text of cargo bench)',
  'vitest-bench': 'vitest bench --run --outputJson report.json',
  tinybench: 'console.log(JSON.stringify(bench.tasks.map(({ name, result }) => ({ name, result }))))',
  mitata: 'await run({ format: { json: { samples: false, debug: false } } })',
  'google-benchmark': './benchmarks --benchmark_out=report.json --benchmark_out_format=json',
  jmh: 'java -jar benchmarks.jar -rf json -rff report.json',
  bencher: '{ "name": { "latency": { "value": NANOSECONDS } } } in a file or on standard output',
};
