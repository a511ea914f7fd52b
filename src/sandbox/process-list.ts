/** Lists the processes of a container: its cgroup's file on this host, else what the engine's `ps` says. */
import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import { z } from 'zod';
import { cgroupFiles } from './cpu-time.js';

export interface ProcessList {
  /** Ids of the processes alive now; only fit to be compared with one another. */
  read(): Promise<readonly string[]>;
}

const Top = z.looseObject({
  Titles: z.array(z.string()),
  Processes: z.array(z.array(z.string())).nullable(),
});

/** Ids out of `cgroup.procs`; null when there are none, or some of which this host's processes have no name (shown as 0). */
export function parseProcessIds(text: string): readonly string[] | null {
  const ids = text.split('\n').filter((line) => line !== '');
  return ids.length > 0 && ids.every((id) => /^[1-9]\d*$/.test(id)) ? ids : null;
}

/** Finds the file once. Programs inside cannot leave it: they see their cgroups read-only. */
export async function createProcessList(container: Docker.Container): Promise<ProcessList> {
  const askEngine = async () => {
    const top = Top.parse(await container.top());
    const column = top.Titles.indexOf('PID');
    return (top.Processes ?? []).map((fields) => fields[column] ?? '');
  };
  for (const file of cgroupFiles(container.id, 'cgroup.procs')) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (parseProcessIds(text) === null) continue;
    return {
      read: async () => {
        const ids = parseProcessIds(await readFile(file, 'utf8'));
        // An arm at rest has processes, so a file without any tells nothing.
        if (ids === null) throw new Error(`${file} names no processes of this host any more`);
        return ids;
      },
    };
  }
  return { read: askEngine };
}
