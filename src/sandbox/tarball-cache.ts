/** Keeps tarballs of the registry on the host's disk under the hash of their address; the package manager checks their integrity. */
import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export interface CachedTarball {
  readonly path: string;
  readonly bytes: number;
}

export interface TarballCache {
  /** The file of this address; `fetch` is asked once, however many wait for it. Rejects with its error. */
  get(url: string, fetch: () => Promise<Readable>): Promise<CachedTarball>;
}

/** Thrown when an answer is longer than allowed. */
export class TooLargeError extends Error {}

/** `maxBytes`: of one tarball. */
export function createTarballCache(directory: string, maxBytes: number): TarballCache {
  const pending = new Map<string, Promise<CachedTarball>>();

  const load = async (path: string, fetch: () => Promise<Readable>): Promise<CachedTarball> => {
    const found = await stat(path).catch(() => null);
    if (found !== null) return { path, bytes: found.size };
    await mkdir(dirname(path), { recursive: true });
    const part = `${path}.${randomUUID()}.part`;
    try {
      const limit = limitBytes(maxBytes);
      await pipeline(await fetch(), limit.stream, createWriteStream(part));
      await rename(part, path);
      return { path, bytes: limit.seen() };
    } finally {
      await rm(part, { force: true });
    }
  };

  return {
    get(url, fetch) {
      const hash = createHash('sha256').update(url).digest('hex');
      const running = pending.get(hash);
      if (running !== undefined) return running;
      const loading = load(join(directory, hash.slice(0, 2), `${hash}.tgz`), fetch).finally(() =>
        pending.delete(hash),
      );
      pending.set(hash, loading);
      return loading;
    },
  };
}

function limitBytes(maxBytes: number): { readonly stream: Transform; readonly seen: () => number } {
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(new TooLargeError(`more than ${maxBytes} bytes`));
      else done(null, chunk);
    },
  });
  return { stream, seen: () => bytes };
}
