/** Removes what a run, or a killed service, left in the engine; only ever what carries this owner's label, or is past its deadline. */
import type Docker from 'dockerode';
import { removeContainer } from './container-watch.js';
import { engineCall } from './engine-errors.js';
import type { FillMarks } from './fill-marks.js';
import { DEADLINE_LABEL, FILL_LABEL, KIND_LABEL, OWNER_LABEL, RUN_LABEL } from './names.js';
import type { VolumeStore } from './volume-store.js';

export interface Reaper {
  /** Containers and volumes of one run. Returns how many went. */
  discard(run: string): Promise<number>;
  /** Every container of this owner, volumes of runs not in `keep`, caches unfinished or long unused, and foreign containers past their deadline. */
  reap(keep: readonly string[]): Promise<number>;
  /** Everything of this owner, caches too. */
  purge(): Promise<number>;
}

export interface ReaperDeps {
  readonly docker: Docker;
  readonly owner: string;
  readonly volumes: VolumeStore;
  readonly marks: FillMarks;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Caches that nobody used for so long go at the next start. */
const CACHE_DAYS = 14;
const DAY_MS = 86_400_000;

interface LabelledVolume {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export function createReaper(deps: ReaperDeps): Reaper {
  const { docker, owner } = deps;

  const containersWith = (labels: readonly string[]) =>
    docker.listContainers({ all: true, filters: { label: [...labels] } });
  const removeContainers = async (labels: readonly string[]) => {
    const found = await containersWith(labels);
    for (const { Id } of found) await removeContainer(docker.getContainer(Id));
    return found.length;
  };
  const volumesWith = async (labels: readonly string[]): Promise<LabelledVolume[]> => {
    const { Volumes } = await docker.listVolumes({ filters: { label: [...labels] } });
    return (Volumes ?? []).map((volume) => ({ name: volume.Name, labels: volume.Labels ?? {} }));
  };
  /** Views before the layers below them. */
  const removeVolumes = async (found: readonly LabelledVolume[]) => {
    const rank = (volume: LabelledVolume) => (volume.labels[KIND_LABEL] === 'workspace' ? 0 : 1);
    let removed = 0;
    for (const volume of [...found].sort((a, b) => rank(a) - rank(b))) {
      if (await deps.volumes.remove(volume.name)) removed += 1;
    }
    return removed;
  };
  const isDead = async (volume: LabelledVolume, keep: readonly string[]) => {
    const run = volume.labels[RUN_LABEL];
    if (run !== undefined) return !keep.includes(run);
    const used = await deps.marks.lastUsed(volume.name);
    const finished = await deps.marks.isFilled(volume.name, volume.labels[FILL_LABEL] ?? '');
    return used === null || !finished || used < deps.now() - CACHE_DAYS * DAY_MS;
  };
  const removeOverdue = async () => {
    const overdue = (await containersWith([DEADLINE_LABEL, OWNER_LABEL])).filter(
      ({ Labels }) => Labels[OWNER_LABEL] !== owner && Number(Labels[DEADLINE_LABEL]) < deps.now(),
    );
    for (const { Id } of overdue) await removeContainer(docker.getContainer(Id));
    return overdue.length;
  };

  const own = [`${OWNER_LABEL}=${owner}`];

  return {
    purge: () =>
      engineCall('remove everything of this installation', async () => {
        const containers = await removeContainers(own);
        return containers + (await removeVolumes(await volumesWith(own)));
      }),
    discard: (run) =>
      engineCall('remove what a run left', async () => {
        const labels = [...own, `${RUN_LABEL}=${run}`];
        const containers = await removeContainers(labels);
        return containers + (await removeVolumes(await volumesWith(labels)));
      }),
    reap: (keep) =>
      engineCall('remove what was left behind', async () => {
        const containers = (await removeContainers(own)) + (await removeOverdue());
        const found = await volumesWith(own);
        const dead: LabelledVolume[] = [];
        for (const volume of found) if (await isDead(volume, keep)) dead.push(volume);
        const names = new Set(found.map((volume) => volume.name));
        for (const mark of await deps.marks.list()) if (!names.has(mark)) await deps.marks.clear(mark);
        return containers + (await removeVolumes(dead));
      }),
  };
}
