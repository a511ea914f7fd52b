/** Remembers on the host which volumes were filled to the end, so that a killed filling is never taken for a workspace. */
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface FillMarks {
  /** Whether exactly this filling of the volume was finished. */
  isFilled(volume: string, fill: string): Promise<boolean>;
  setFilled(volume: string, fill: string): Promise<void>;
  /** Notes that it was used now. */
  touch(volume: string, at: number): Promise<void>;
  /** Epoch milliseconds of the last use, or null when never filled. */
  lastUsed(volume: string): Promise<number | null>;
  clear(volume: string): Promise<void>;
  /** Volumes that have a mark. */
  list(): Promise<readonly string[]>;
}

/** `directory` is made on first use. */
export function createFillMarks(directory: string): FillMarks {
  const pathOf = (volume: string) => join(directory, volume);
  return {
    async isFilled(volume, fill) {
      return (await readFile(pathOf(volume), 'utf8').catch(() => null)) === fill;
    },
    async setFilled(volume, fill) {
      await mkdir(directory, { recursive: true });
      await writeFile(`${pathOf(volume)}.new`, fill);
      await rename(`${pathOf(volume)}.new`, pathOf(volume));
    },
    async touch(volume, at) {
      await utimes(pathOf(volume), at / 1000, at / 1000).catch(() => {});
    },
    async lastUsed(volume) {
      return stat(pathOf(volume)).then(
        (found) => found.mtimeMs,
        () => null,
      );
    },
    async clear(volume) {
      await rm(pathOf(volume), { force: true });
    },
    async list() {
      const names = await readdir(directory).catch(() => []);
      return names.filter((name) => !name.endsWith('.new'));
    },
  };
}
