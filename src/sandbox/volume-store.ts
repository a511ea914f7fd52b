/** Volumes that are filled once and then only read, or owned by one run; a half-filled one is thrown away and made again. */
import { randomUUID } from 'node:crypto';
import type Docker from 'dockerode';
import { z } from 'zod';
import { engineCall, statusOf } from './engine-errors.js';
import type { FillMarks } from './fill-marks.js';
import type { KeyedQueue } from './keyed-queue.js';
import { FILL_LABEL, type Naming, type ThingKind } from './names.js';

export interface VolumeSpec {
  readonly name: string;
  readonly kind: ThingKind;
  /** Null for caches that outlive a run. */
  readonly run: string | null;
  /** Options of the local driver, asked when the volume is made; undefined for a plain directory. */
  readonly driverOptions?: () => Promise<Readonly<Record<string, string>>>;
}

export interface FilledVolume {
  readonly name: string;
  /** Path of its directory as the engine sees it. */
  readonly mountpoint: string;
  /** Whether it was there already. */
  readonly found: boolean;
}

export interface VolumeStore {
  /** The volume, filled; `fill` runs only when it has to, and one at a time per name. */
  ensure(spec: VolumeSpec, fill: (mountpoint: string) => Promise<void>): Promise<FilledVolume>;
  /** An empty volume of this name; an older one is removed. Returns its mountpoint. */
  recreate(spec: VolumeSpec): Promise<string>;
  exists(name: string): Promise<boolean>;
  /** Idempotent; a volume that a container still uses stays and gives false. */
  remove(name: string): Promise<boolean>;
}

const Inspected = z.looseObject({
  Mountpoint: z.string(),
  Labels: z.record(z.string(), z.string()).nullish(),
});

export interface VolumeStoreDeps {
  readonly docker: Docker;
  readonly naming: Naming;
  readonly marks: FillMarks;
  readonly queue: KeyedQueue;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function createVolumeStore(deps: VolumeStoreDeps): VolumeStore {
  const { docker, naming, marks } = deps;

  const inspect = async (name: string) => {
    try {
      return Inspected.parse(await docker.getVolume(name).inspect());
    } catch (error) {
      if (statusOf(error) === 404) return null;
      throw error;
    }
  };
  const create = async (spec: VolumeSpec, fill: string): Promise<string> => {
    const driverOptions = await spec.driverOptions?.();
    await docker.createVolume({
      Name: spec.name,
      Driver: 'local',
      Labels: { ...naming.labels(spec.kind, spec.run), [FILL_LABEL]: fill },
      DriverOpts: { ...driverOptions },
    });
    const made = await inspect(spec.name);
    if (made === null) throw new Error(`the engine lost the volume ${spec.name} that it just made`);
    return made.Mountpoint;
  };
  const remove = async (name: string): Promise<boolean> => {
    try {
      await docker.getVolume(name).remove();
    } catch (error) {
      const status = statusOf(error);
      if (status === 409) return false;
      if (status !== 404) throw error;
    }
    await marks.clear(name);
    return true;
  };

  return {
    exists: (name) => engineCall('look for a volume', async () => (await inspect(name)) !== null),
    remove: (name) => engineCall('remove a volume', () => remove(name)),
    recreate: (spec) =>
      engineCall('make a volume', async () => {
        await remove(spec.name);
        return create(spec, randomUUID());
      }),
    ensure: (spec, fill) =>
      deps.queue.run(spec.name, () =>
        engineCall('fill a volume', async () => {
          const found = await inspect(spec.name);
          const mark = found?.Labels?.[FILL_LABEL];
          if (found !== null && mark !== undefined && (await marks.isFilled(spec.name, mark))) {
            await marks.touch(spec.name, deps.now());
            return { name: spec.name, mountpoint: found.Mountpoint, found: true };
          }
          await remove(spec.name);
          const filling = randomUUID();
          const mountpoint = await create(spec, filling);
          try {
            await fill(mountpoint);
            await marks.setFilled(spec.name, filling);
          } catch (error) {
            await remove(spec.name).catch(() => {});
            throw error;
          }
          return { name: spec.name, mountpoint, found: false };
        }),
      ),
  };
}
