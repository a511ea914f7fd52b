/** The port to disposable containers: everything that executes repository code or model commands goes through it. */
import type { RepositoryRef } from './repository.js';

export interface SandboxHealth {
  readonly ok: boolean;
  /** One sentence: what answered, or what is missing and how to fix it. */
  readonly detail: string;
  readonly imageId: string | null;
  readonly runtime: string;
}

/** How dependencies get installed; commands run by `sh -c` inside the sandbox. */
export interface InstallSpec {
  readonly packageManager: 'npm' | 'pnpm' | 'yarn' | 'none';
  /** Overrides the package manager's own frozen install; null for the default. */
  readonly command: string | null;
  /** Milliseconds that installing may take; the adapter's own limit when left out. */
  readonly timeoutMs?: number;
}

export interface WorkspaceSpec {
  /** Run that owns it; `discard(run)` removes all of its workspaces. */
  readonly run: string;
  /** Name inside the run: `plan`, `base`, `patch`, `copy`. Same run, name and tree gives the same workspace again. */
  readonly name: string;
  readonly repository: RepositoryRef;
  readonly baseCommit: string;
  /** Tree to show: the base commit's own, or a patched one. */
  readonly tree: string | null;
  readonly install: InstallSpec;
  /** Files laid over the tree before anything runs (the frozen benchmark, for one), path → content. */
  readonly overlay?: ReadonlyMap<string, Buffer | string>;
  /** Adds a `.git` with one commit of the tree, for workspaces that get edited. Default false. */
  readonly git?: boolean;
}

/** A writable file tree with dependencies, seen at `/ws` by each command that runs in it. */
export interface Workspace {
  readonly run: string;
  readonly name: string;
  /** Unique reference for the adapter (volume name). */
  readonly ref: string;
  /** Whether dependencies came out of the cache. */
  readonly dependenciesCached: boolean;
}

export interface SandboxCommand {
  /** Program and arguments; never a shell string made of data. */
  readonly argv: readonly string[];
  /** Directory from the workspace root; default the root. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Buffer | string;
  readonly timeoutMs: number;
  /** Bytes of memory; default from the limits. */
  readonly memoryBytes?: number;
  /** Default false. */
  readonly readOnlyWorkspace?: boolean;
  /** Bytes kept per stream, half of it from the head and half from the tail; default 64 KiB. */
  readonly outputBytes?: number;
}

export interface BoundedOutput {
  /** UTF-8 text; where the middle is missing, a line says how many bytes were left out. */
  readonly text: string;
  readonly totalBytes: number;
  readonly truncated: boolean;
}

export interface CommandResult {
  readonly outcome: 'exited' | 'timed-out' | 'flooded' | 'out-of-memory';
  /** Null unless `exited`. */
  readonly exitCode: number | null;
  readonly stdout: BoundedOutput;
  readonly stderr: BoundedOutput;
  readonly wallMs: number;
}

/** A container kept for one arm of a measurement: read-only workspace, pinned CPU. */
export interface MeasurementArm {
  /** Where programs in it find the workspace's root and the harness's files; absolute, without a slash at the end. */
  readonly paths: {
    readonly workspace: string;
    readonly harness: string;
    /** Directories that programs can write to and that nobody else uses: emptied before each run of a command. */
    readonly scratch?: readonly string[];
  };
  /** Runs a fresh process in it. A time-out kills the whole container; later calls then throw PeerError `ARM_GONE`. */
  exec(
    argv: readonly string[],
    options: {
      readonly timeoutMs: number;
      readonly stdin?: string;
      /** Bytes kept per stream as in `SandboxCommand`; default 64 KiB. */
      readonly outputBytes?: number;
    },
  ): Promise<CommandResult>;
  /** Processes alive in it besides the idle one that keeps it open. */
  leftoverProcesses(): Promise<number>;
  /** CPU microseconds that the kernel has booked to the container so far; null where it books none apart. */
  cpuMicros(): Promise<number | null>;
  close(): Promise<void>;
}

export interface Sandbox {
  check(): Promise<SandboxHealth>;
  /** Finds or makes the workspace: files, dependencies (phase of their own), overlay. Throws UserError `INSTALL_FAILED` with the output's tail, PeerError `DOCKER_UNAVAILABLE`. */
  prepare(spec: WorkspaceSpec, signal: AbortSignal): Promise<Workspace>;
  /** One command in one fresh container without network. Throws PeerError `DOCKER_UNAVAILABLE`. */
  run(workspace: Workspace, command: SandboxCommand, signal: AbortSignal): Promise<CommandResult>;
  /** Starts a container for one arm, pinned to `cpuset`. */
  openArm(
    workspace: Workspace,
    options: { readonly cpuset: string },
    signal: AbortSignal,
  ): Promise<MeasurementArm>;
  /** CPUs that a measurement may pin to, as a Docker cpuset. */
  measurementCpuset(): string;
  /** Removes everything that a run owns: containers and volumes. Idempotent. */
  discard(run: string): Promise<void>;
  /** Removes what a killed service of this installation left behind; called once at start, `keep` are runs still active. */
  reap(keep: readonly string[]): Promise<number>;
}
