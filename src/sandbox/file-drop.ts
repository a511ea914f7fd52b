/** Puts directories and files of our own into volumes through a container that is never started. */
import { pack } from 'tar-stream';
import { SANDBOX_USER, volumeMount } from './container-settings.js';
import { removeContainer } from './container-watch.js';
import type { Engine } from './engine.js';
import { engineCall } from './engine-errors.js';
import { DEADLINE_LABEL, type Naming } from './names.js';

export interface Drop {
  readonly volume: string;
  /** Path from the volume's root → content, or null for a directory. Parents of files are made. */
  readonly entries: ReadonlyMap<string, Buffer | string | null>;
}

export interface FileDrop {
  /** Everything belongs to the sandbox's user. Only for content whose paths were checked: the engine unpacks it. */
  put(run: string, drops: readonly Drop[]): Promise<void>;
}

const DIRECTORY_MODE = 0o755;
const FILE_MODE = 0o644;

export function createFileDrop(engine: Engine, naming: Naming, now: () => number): FileDrop {
  return {
    put: (run, drops) =>
      engineCall('put files into a volume', async () => {
        const container = await engine.docker.createContainer({
          Image: await engine.imageId(),
          Labels: { ...naming.labels('file-drop', run), [DEADLINE_LABEL]: String(now() + 60_000) },
          Cmd: ['false'],
          NetworkDisabled: true,
          HostConfig: {
            NetworkMode: 'none',
            LogConfig: { Type: 'none', Config: {} },
            Mounts: drops.map((drop, at) => volumeMount(drop.volume, `/drop/${at}`)),
          },
        });
        try {
          for (const [at, drop] of drops.entries()) {
            await container.putArchive(await packEntries(drop.entries), { path: `/drop/${at}` });
          }
        } finally {
          await removeContainer(container);
        }
      }),
  };
}

/** The entries as a tar file, directories first. */
export async function packEntries(entries: Drop['entries']): Promise<Buffer> {
  const archive = pack();
  const owner = { uid: SANDBOX_USER, gid: SANDBOX_USER, mtime: new Date(0) };
  for (const directory of directoriesOf(entries)) {
    archive.entry({ ...owner, name: directory, type: 'directory', mode: DIRECTORY_MODE });
  }
  for (const [name, content] of entries) {
    if (content !== null) archive.entry({ ...owner, name, mode: FILE_MODE }, content);
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Every directory named or implied, parents first. */
export function directoriesOf(entries: Drop['entries']): string[] {
  const directories = new Set<string>();
  for (const [name, content] of entries) {
    const parts = name.split('/').filter((part) => part !== '' && part !== '.');
    const depth = content === null ? parts.length : parts.length - 1;
    for (let i = 1; i <= depth; i += 1) directories.add(`${parts.slice(0, i).join('/')}/`);
  }
  return [...directories];
}
