/** What planning hands over: a structured plan and the frozen benchmark that will decide. */

export interface Plan {
  /** One line, used in the pull request's title. */
  readonly title: string;
  readonly hypothesis: string;
  /** Paths the plan means to change. */
  readonly files: readonly string[];
  readonly steps: readonly string[];
  readonly measurement: string;
  readonly risk: string;
}

/** The benchmark that decides, frozen before any patch exists. */
export type Benchmark = ModuleBenchmark | CommandBenchmark | ReportBenchmark;

interface FrozenBenchmark {
  /** Whose it is: the repository's own, or written by Hasten in planning. */
  readonly origin: 'repository' | 'hasten';
  /** What was frozen: the full source of a module, or the command. */
  readonly source: string;
  /** sha256 hex of `source`. */
  readonly sha256: string;
}

/** A JavaScript or TypeScript module that exports `run` or `workloads`, observed by Hasten's own harness. */
export interface ModuleBenchmark extends FrozenBenchmark {
  readonly kind: 'module';
  /** Path in the repository (repository's own), or the name Hasten gave it. */
  readonly path: string;
  /** Module under test, path from the root; passed to the benchmark as absolute path in `process.argv[2]`. */
  readonly entry: string;
  /** The same work on other inputs; null where planning made none. Never shown to whoever writes the patch. */
  readonly heldBack: HeldBackBenchmark | null;
}

/** What people call it: the module's path, or the command. */
export function benchmarkName(benchmark: Benchmark): string {
  return benchmark.kind === 'module' ? benchmark.path : benchmark.source;
}

/** Its held-back workload; null where it has none. */
export function heldBackOf(benchmark: Benchmark): HeldBackBenchmark | null {
  return benchmark.kind === 'module' ? benchmark.heldBack : null;
}

/** A module like the benchmark, for the same entry, with other inputs. */
export interface HeldBackBenchmark {
  readonly path: string;
  readonly source: string;
  /** sha256 hex of `source`. */
  readonly sha256: string;
}

/** Any command, run by `sh -c` in the root of the workspace; its process tree's CPU time or wall time is the figure. */
export interface CommandBenchmark extends FrozenBenchmark {
  readonly kind: 'command';
}

/** A command of a known benchmark tool; the figures come out of its report. */
export interface ReportBenchmark extends FrozenBenchmark {
  readonly kind: 'report';
  readonly format: ReportFormat;
  /** File that the tool writes, path from the root (absolute below /tmp allowed); null: standard output. */
  readonly file: string | null;
}

export const REPORT_FORMATS = [
  'hyperfine',
  'go-bench',
  'pytest-benchmark',
  'criterion',
  'vitest-bench',
  'tinybench',
  'mitata',
  'google-benchmark',
  'jmh',
  'bencher',
] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** A function of a CPU profile with what it used itself. */
export interface HotFunction {
  readonly name: string;
  /** Path from the root of the repository, or the module's address for what is not of it (`node:fs`, `(garbage collector)`). */
  readonly file: string;
  /** 1-based; 0 where unknown. */
  readonly line: number;
  /** Of the profile's samples, 0 to 1. */
  readonly share: number;
}

/** `git diff --binary` of the workspace against the base commit, with the tree that it makes. */
export interface Patch {
  readonly baseCommit: string;
  readonly tree: string;
  readonly diff: string;
  /** sha256 hex of `diff`. */
  readonly digest: string;
  readonly files: readonly {
    readonly path: string;
    readonly additions: number;
    readonly deletions: number;
  }[];
  /** The model's own words on what it changed and why; shown as its claim, never as evidence. */
  readonly summary: string;
}
