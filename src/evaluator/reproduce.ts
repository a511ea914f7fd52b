/** Commands that a person can run in a clone to see base and patch differ, without Hasten. */
import type { Benchmark } from '../domain/plan.js';
import type { EvaluationContext } from './evaluation-context.js';
import { executedPath } from './typescript-module.js';

const DEFAULT_INSTALL = {
  npm: 'npm ci',
  pnpm: 'pnpm install --frozen-lockfile',
  yarn: 'yarn install --frozen-lockfile',
  none: null,
} as const;

/** One shell line per step; run them once on the base commit and once on the patch. */
export function reproduceCommands(context: EvaluationContext): readonly string[] {
  const { settings, baseCommit } = context;
  const install = settings.install.command ?? DEFAULT_INSTALL[settings.install.packageManager];
  return [
    `git checkout ${baseCommit}`,
    ...[install, settings.build, settings.test].filter((command) => command !== null),
    benchmarkCommand(context.benchmark),
  ];
}

function benchmarkCommand(benchmark: Benchmark): string {
  return benchmark.kind === 'module' ? timingCommand(benchmark.path, benchmark.entry) : benchmark.source;
}

/** Prints CPU microseconds per call after a warm-up, as the smallest of five batches. */
function timingCommand(path: string, entry: string): string {
  const script = [
    `const root = process.cwd() + "/"; process.argv[2] = root + ${JSON.stringify(entry)}`,
    `const bench = await import(root + ${JSON.stringify(path)})`,
    'const cpu = () => { const { user, system } = process.cpuUsage(); return user + system }',
    'for (const [name, fn] of Object.entries(bench.workloads ?? { run: bench.run })) { ' +
      'let calls = 0; const start = cpu(); while (cpu() - start < 250000) { await fn(); calls++ } ' +
      'const batch = Math.max(1, Math.round(calls * 7 / 250)); const times = []; ' +
      'for (let i = 0; i < 5; i++) { const from = cpu(); for (let j = 0; j < batch; j++) await fn(); ' +
      'times.push((cpu() - from) / batch) } ' +
      'console.log(name, Math.min(...times).toFixed(3), "us") }',
  ].join('; ');
  // Node before 22.18 loads TypeScript with this flag only.
  const flags = executedPath(path) === path ? '' : '--experimental-strip-types ';
  return `node ${flags}--input-type=module --eval ${shellQuoted(script)}`;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
