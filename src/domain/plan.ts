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
export interface Benchmark {
  readonly kind: 'module';
  /** Whose it is: the repository's own file, or written by Hasten in planning. */
  readonly origin: 'repository' | 'hasten';
  /** Path in the repository (repository's own), or the name Hasten gave it. */
  readonly path: string;
  /** Full source of the module. */
  readonly source: string;
  /** sha256 hex of `source`. */
  readonly sha256: string;
  /** Module under test, path from the root; passed to the benchmark as absolute path in `process.argv[2]`. */
  readonly entry: string;
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
