/** Settings after validation and merging: what a repository asks for, narrowed by what the operator allows. */
import type { InstallSpec } from './sandbox.js';

export type ApprovalMode = 'auto' | 'before-push' | 'draft' | 'none';

/** Effective settings of one run, read at the base commit of the default branch and pinned. */
export interface RepositorySettings {
  readonly install: InstallSpec;
  /** `sh -c` command inside the sandbox, or null when there is nothing to build. */
  readonly build: string | null;
  readonly test: string | null;
  /** Null: planning writes one, the pull request is a draft. `entry` is the module under test. */
  readonly benchmark: { readonly module: string; readonly entry: string } | null;
  /** Module under test for a benchmark written in planning (package.json `exports`/`main`), or null when unknown. */
  readonly entry: string | null;
  /** Globs that a patch may change although the default policy would refuse them (build output, for one). Empty: default policy. */
  readonly allow: readonly string[];
  /** Attempts per run. */
  readonly attempts: number;
  /** Smallest gain worth a pull request, 0.05 = 5 %. */
  readonly minimumEffect: number;
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
