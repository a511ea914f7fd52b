/** Settings after validation and merging: what a repository asks for, narrowed by what the operator allows. */
import type { ReportFormat } from './plan.js';
import type { InstallSpec } from './sandbox.js';

export type ApprovalMode = 'auto' | 'before-push' | 'draft' | 'none';

/** Which benchmark decides. `entry` is the module under test; `file` is where the tool writes its report, null for standard output. */
export type BenchmarkSettings =
  | { readonly kind: 'module'; readonly module: string; readonly entry: string }
  | { readonly kind: 'command'; readonly command: string }
  | {
      readonly kind: 'report';
      readonly command: string;
      readonly format: ReportFormat;
      readonly file: string | null;
    };

/** Effective settings of one run, read at the base commit of the default branch and pinned. */
export interface RepositorySettings {
  readonly install: InstallSpec;
  /** `sh -c` command inside the sandbox, or null when there is nothing to build. */
  readonly build: string | null;
  readonly test: string | null;
  /** Commands that must find nothing new on the patch; `sh -c` inside the sandbox, null where there is none. */
  readonly checks: {
    readonly types: string | null;
    readonly lint: string | null;
    readonly format: string | null;
  };
  /** Null: planning writes one, the pull request is a draft. */
  readonly benchmark: BenchmarkSettings | null;
  /** Module under test for a benchmark written in planning (package.json `exports`/`main`), or null when unknown. */
  readonly entry: string | null;
  /** Globs that a patch may change although the default policy would refuse them (build output, for one). Empty: default policy. */
  readonly allow: readonly string[];
  /** Attempts per run. */
  readonly attempts: number;
  /** Smallest gain worth a pull request, 0.05 = 5 %. */
  readonly minimumEffect: number;
  /** Growth of peak memory that a patch may bring, 0.2 = 20 %. */
  readonly memoryGrowth: number;
  readonly approval: ApprovalMode;
  /** Dollars that one run may spend on model calls. */
  readonly budgetUsd: number;
  /** Deadlines of one command, milliseconds. */
  readonly timeouts: {
    readonly installMs: number;
    readonly buildMs: number;
    readonly testMs: number;
    readonly measureMs: number;
  };
  readonly memoryBytes: number;
  /** Where they came from: the file at the base commit, or detection by lockfile and scripts. */
  readonly origin: 'file' | 'detected';
}
