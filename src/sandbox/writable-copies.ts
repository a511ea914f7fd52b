/** Writable views of read-only volumes: copy-on-write by an overlay volume of the local driver, or a real copy where that fails. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PeerError } from '../domain/errors.js';
import type { ContainerRunner } from './container-runner.js';
import { volumeMount } from './container-settings.js';
import type { Engine } from './engine.js';
import { type Drop, type FileDrop, packEntries } from './file-drop.js';
import type { Naming } from './names.js';
import type { VolumeStore } from './volume-store.js';

/** A directory of a filled volume. */
export interface Lower {
  readonly volume: string;
  /** Path of the volume as the engine sees it. */
  readonly mountpoint: string;
  /** Directory inside the volume, or empty for its root. */
  readonly directory: string;
}

export type CopyMode = 'overlay' | 'copy';

export interface WritableCopies {
  /** Tried once per engine and remembered on disk. */
  mode(): Promise<CopyMode>;
  /** Options of a volume that shows `lowers`, topmost first, below the `upper/` of a volume prepared with `UPPER_ENTRIES`. */
  driverOptions(lowers: readonly Lower[], upperMountpoint: string): Record<string, string>;
  /** Copies `lowers` and then `files` into the volume `target`. */
  copy(request: CopyRequest, signal: AbortSignal): Promise<void>;
}

export interface CopyRequest {
  readonly run: string;
  readonly target: string;
  readonly lowers: readonly Lower[];
  readonly files: Drop['entries'];
}

export interface WritableCopiesDeps {
  readonly engine: Engine;
  readonly runner: ContainerRunner;
  readonly volumes: VolumeStore;
  readonly drop: FileDrop;
  readonly naming: Naming;
  /** Where the answer of the trial is kept. */
  readonly directory: string;
  /** Never tries overlay volumes. */
  readonly copyOnly: boolean;
}

/** Directories that an overlay needs in its upper volume. */
export const UPPER_ENTRIES: Drop['entries'] = new Map([
  ['upper', null],
  ['work', null],
]);
const COPY_TIMEOUT_MS = 300_000;
const COPY_SCRIPT = `set -eu
for lower in "$@"; do cp -a "$lower/." /ws/; done
tar -x -f - -C /ws`;

export function createWritableCopies(deps: WritableCopiesDeps): WritableCopies {
  let known: Promise<CopyMode> | null = null;
  return {
    mode() {
      known ??= (deps.copyOnly ? Promise.resolve<CopyMode>('copy') : rememberedMode(deps)).catch(
        (error: unknown) => {
          known = null;
          throw error;
        },
      );
      return known;
    },
    driverOptions: (lowers, upperMountpoint) =>
      overlayOptions(
        lowers.map((lower) => joined(lower.mountpoint, lower.directory)),
        upperMountpoint,
      ),
    async copy(request, signal) {
      const sources = [...request.lowers].reverse();
      const result = await deps.runner.run(
        {
          run: request.run,
          what: 'copy',
          kind: 'command',
          argv: [
            'sh',
            '-c',
            COPY_SCRIPT,
            'sh',
            ...sources.map((lower, at) => joined(`/lower/${at}`, lower.directory)),
          ],
          mounts: [
            volumeMount(request.target, '/ws', { copyImage: true }),
            ...sources.map((lower, at) => volumeMount(lower.volume, `/lower/${at}`, { readOnly: true })),
          ],
          stdin: await packEntries(request.files),
          timeoutMs: COPY_TIMEOUT_MS,
        },
        signal,
      );
      if (result.outcome === 'exited' && result.exitCode === 0) return;
      throw new PeerError({
        code: 'WORKSPACE_NOT_FILLED',
        message: `copying a workspace failed (${result.outcome} ${result.exitCode}): ${result.stderr.text.slice(-500)}`,
      });
    },
  };
}

function joined(path: string, directory: string): string {
  return directory === '' ? path : `${path}/${directory}`;
}

async function rememberedMode(deps: WritableCopiesDeps): Promise<CopyMode> {
  const { id, version } = await deps.engine.traits();
  const file = join(
    deps.directory,
    `copy-mode-${createHash('sha256').update(`${id} ${version}`).digest('hex').slice(0, 16)}`,
  );
  const found = await readFile(file, 'utf8').catch(() => null);
  if (found === 'overlay' || found === 'copy') return found;
  const mode = (await mountsOverlay(deps)) ? 'overlay' : 'copy';
  await mkdir(deps.directory, { recursive: true });
  await writeFile(file, mode);
  return mode;
}

/** Makes a small overlay volume and lets the engine mount it; only its refusal to mount counts as no. */
async function mountsOverlay(deps: WritableCopiesDeps): Promise<boolean> {
  const { volumes, naming } = deps;
  const run = 'probe';
  const [lower, upper, view] = ['lower', 'upper', 'view'].map((part) => naming.volume('probe', part));
  if (lower === undefined || upper === undefined || view === undefined) return false;
  try {
    const lowerPath = await volumes.recreate({ name: lower, kind: 'probe', run });
    const upperPath = await volumes.recreate({ name: upper, kind: 'probe', run });
    if (/[:,\\]/.test(lowerPath + upperPath)) return false;
    await deps.drop.put(run, [{ volume: upper, entries: UPPER_ENTRIES }]);
    const options = overlayOptions([lowerPath], upperPath);
    await volumes.recreate({ name: view, kind: 'probe', run, driverOptions: async () => options });
    try {
      await deps.drop.put(run, [{ volume: view, entries: new Map() }]);
      return true;
    } catch (error) {
      if (error instanceof PeerError && error.code === 'DOCKER_REFUSED') return false;
      throw error;
    }
  } finally {
    for (const name of [view, upper, lower]) await volumes.remove(name);
  }
}

function overlayOptions(lowers: readonly string[], upper: string): Record<string, string> {
  return {
    type: 'overlay',
    device: 'overlay',
    o: [
      `lowerdir=${lowers.join(':')}`,
      `upperdir=${upper}/upper`,
      `workdir=${upper}/work`,
      'redirect_dir=on',
      'index=off',
    ].join(','),
  };
}
