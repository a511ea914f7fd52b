/** Reads how much CPU time the kernel booked to a container: its cgroup's file on this host, else the engine's statistics. */
import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import { z } from 'zod';
import { PeerError } from '../domain/errors.js';

const Stats = z.looseObject({
  cpu_stats: z.looseObject({ cpu_usage: z.looseObject({ total_usage: z.number() }) }),
});

/** Where the cgroupfs and systemd drivers put a file of a container, for cgroup v1 and v2. `id` is the full container id. */
export function cgroupFiles(id: string, v1: string, v2 = v1): readonly string[] {
  const places = [`docker/${id}`, `system.slice/docker-${id}.scope`];
  return places.flatMap((place) => [
    `/sys/fs/cgroup/cpuacct/${place}/${v1}`,
    `/sys/fs/cgroup/cpu,cpuacct/${place}/${v1}`,
    `/sys/fs/cgroup/${place}/${v2}`,
  ]);
}

/** Files that may hold the CPU time of a container. */
export function cpuTimeFiles(id: string): readonly string[] {
  return cgroupFiles(id, 'cpuacct.usage', 'cpu.stat');
}

/** CPU microseconds from `cpuacct.usage` (one number, nanoseconds) or `cpu.stat` (a line `usage_usec N`); null for other text. */
export function parseCpuMicros(text: string): number | null {
  const nanoseconds = /^(\d+)\s*$/.exec(text)?.[1];
  if (nanoseconds !== undefined) return Math.round(Number(nanoseconds) / 1000);
  const microseconds = /^usage_usec (\d+)$/m.exec(text)?.[1];
  return microseconds === undefined ? null : Number(microseconds);
}

export interface CpuClock {
  /** CPU microseconds so far. Throws PeerError `CPU_TIME_UNKNOWN`. */
  read(): Promise<number>;
}

/** Finds the file once; engines on other machines are asked for statistics, which some kernels leave empty. */
export async function createCpuClock(container: Docker.Container): Promise<CpuClock> {
  for (const file of cpuTimeFiles(container.id)) {
    const text = await readFile(file, 'utf8').catch(() => null);
    if (text === null || parseCpuMicros(text) === null) continue;
    return { read: async () => parseCpuMicros(await readFile(file, 'utf8')) ?? 0 };
  }
  return {
    async read() {
      const stats: unknown = await container.stats({ stream: false, 'one-shot': true });
      const nanoseconds = Stats.parse(stats).cpu_stats.cpu_usage.total_usage;
      if (nanoseconds > 0) return Math.round(nanoseconds / 1000);
      throw new PeerError({
        code: 'CPU_TIME_UNKNOWN',
        message:
          'the engine reports no CPU time for a running container, and its cgroup is not visible from here',
        retryable: false,
      });
    },
  };
}
