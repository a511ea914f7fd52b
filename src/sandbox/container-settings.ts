/** The hardened settings of every container that runs repository code or model commands; what each one stops is tested. */
import type { ContainerCreateOptions, HostConfig, MountSettings } from 'dockerode';

/** Ceilings of one container and of all together. */
export interface SandboxLimits {
  /** Containers that work at once; the rest waits in order. */
  readonly containers: number;
  /** Bytes of memory of a command; swap is never added. */
  readonly memoryBytes: number;
  /** Bytes of memory while dependencies are installed. */
  readonly installMemoryBytes: number;
  /** Milliseconds that installing dependencies may take. */
  readonly installTimeoutMs: number;
  readonly pids: number;
  /** CPUs that a command may use at once (a quota); measurements are pinned instead. */
  readonly cpus: number;
  /** Bytes of the temporary directory, which is memory. */
  readonly tmpBytes: number;
  /** Bytes of the largest file. */
  readonly fileBytes: number;
  /** Bytes of output at which a command is killed. */
  readonly floodBytes: number;
}

export const DEFAULT_LIMITS: SandboxLimits = {
  containers: 2,
  memoryBytes: 2 ** 30,
  installMemoryBytes: 2 * 2 ** 30,
  installTimeoutMs: 600_000,
  pids: 256,
  cpus: 2,
  tmpBytes: 256 * 2 ** 20,
  fileBytes: 2 * 2 ** 30,
  floodBytes: 64 * 2 ** 20,
};

export const SANDBOX_USER = 10001;

/** What the settings need to know of the engine. */
export interface EngineTraits {
  readonly cgroupVersion: 1 | 2;
  readonly cpus: number;
}

export interface ContainerPlan {
  readonly name: string;
  readonly image: string;
  readonly runtime: string;
  readonly seccomp: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly MountSettings[];
  readonly memoryBytes: number;
  /** CPUs to be pinned to, or null for a share of all. */
  readonly cpuset: string | null;
  readonly stdin: boolean;
}

/** Builds the create request. `MemorySwappiness` exists on cgroup v1 only; CPU quota and pinning are never combined. */
export function containerSettings(
  plan: ContainerPlan,
  limits: SandboxLimits,
  engine: EngineTraits,
): ContainerCreateOptions & { name: string } {
  return {
    name: plan.name,
    Image: plan.image,
    User: `${SANDBOX_USER}:${SANDBOX_USER}`,
    Hostname: 'sandbox',
    Cmd: [...plan.argv],
    Entrypoint: [],
    Env: Object.entries({ HOME: '/tmp', TMPDIR: '/tmp', ...plan.env }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    // Always the mount point itself: the runtime follows links in a working directory before it drops its own descriptors.
    WorkingDir: '/ws',
    Labels: { ...plan.labels },
    Tty: false,
    OpenStdin: plan.stdin,
    StdinOnce: plan.stdin,
    AttachStdin: plan.stdin,
    AttachStdout: true,
    AttachStderr: true,
    StopTimeout: 1,
    HostConfig: hostConfig(plan, limits, engine),
  };
}

function hostConfig(plan: ContainerPlan, limits: SandboxLimits, engine: EngineTraits): HostConfig {
  const settings: HostConfig & { readonly CgroupnsMode: 'private' } = {
    Runtime: plan.runtime,
    NetworkMode: 'none',
    Privileged: false,
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges:true', `seccomp=${plan.seccomp}`],
    ReadonlyRootfs: true,
    Init: true,
    IpcMode: 'private',
    CgroupnsMode: 'private',
    PidsLimit: limits.pids,
    Memory: plan.memoryBytes,
    MemorySwap: plan.memoryBytes,
    ...(engine.cgroupVersion === 1 ? { MemorySwappiness: 0 } : {}),
    OomScoreAdj: 500,
    ...(plan.cpuset === null
      ? { NanoCpus: Math.min(limits.cpus, engine.cpus) * 1e9 }
      : { CpusetCpus: plan.cpuset }),
    ShmSize: 64 * 2 ** 20,
    Ulimits: [
      { Name: 'nofile', Soft: 4096, Hard: 4096 },
      { Name: 'fsize', Soft: limits.fileBytes, Hard: limits.fileBytes },
      { Name: 'core', Soft: 0, Hard: 0 },
    ],
    Tmpfs: {
      '/tmp': `rw,exec,nosuid,nodev,size=${limits.tmpBytes},nr_inodes=100k,mode=1777`,
    },
    Mounts: [...plan.mounts],
    LogConfig: { Type: 'none', Config: {} },
    RestartPolicy: { Name: 'no' },
    AutoRemove: false,
  };
  return settings;
}

/** A volume at a path of the container; never filled from the image unless asked. */
export function volumeMount(
  volume: string,
  target: string,
  options: { readonly readOnly?: boolean; readonly copyImage?: boolean } = {},
): MountSettings {
  return {
    Type: 'volume',
    Source: volume,
    Target: target,
    ReadOnly: options.readOnly ?? false,
    VolumeOptions: {
      NoCopy: !(options.copyImage ?? false),
      Labels: {},
      DriverConfig: { Name: 'local', Options: {} },
    },
  };
}
