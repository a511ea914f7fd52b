/** Asks the machine's configured registry over TLS of the host; nothing that a sandbox sent goes along but the package's name. */
import { Readable } from 'node:stream';
import { type RegistryTarget, registryPath } from './registry-path.js';
import { type CachedTarball, createTarballCache, TooLargeError } from './tarball-cache.js';

/** An answer other than 200, or none at all (502). */
export class UpstreamError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface RegistryUpstream {
  /** A package document as JSON text whose tarball addresses point at `mirrorUrl`. Throws UpstreamError. */
  document(target: RegistryTarget, mirrorUrl: string): Promise<Buffer>;
  /** A tarball on disk. Throws UpstreamError. */
  tarball(target: RegistryTarget): Promise<CachedTarball>;
}

export interface RegistryUpstreamOptions {
  readonly registryUrl: string;
  readonly cacheDir: string;
  readonly maxDocumentBytes: number;
  readonly maxTarballBytes: number;
  /** Milliseconds for one answer. */
  readonly timeoutMs: number;
}

/** npm's abbreviated document: what installing needs. */
const ACCEPT = 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*';
export function createRegistryUpstream(options: RegistryUpstreamOptions): RegistryUpstream {
  const base = options.registryUrl.endsWith('/') ? options.registryUrl : `${options.registryUrl}/`;
  const cache = createTarballCache(options.cacheDir, options.maxTarballBytes);

  const ask = async (target: RegistryTarget): Promise<Readable> => {
    const url = new URL(registryPath(target), base);
    let answer: Response;
    try {
      answer = await fetch(url, {
        headers: { accept: target.kind === 'document' ? ACCEPT : '*/*' },
        signal: AbortSignal.timeout(options.timeoutMs),
      });
    } catch (error) {
      throw new UpstreamError(502, `the registry does not answer: ${causeOf(error)}`);
    }
    if (!answer.ok || answer.body === null) {
      await answer.body?.cancel();
      throw new UpstreamError(answer.status === 404 ? 404 : 502, `the registry answered ${answer.status}`);
    }
    return Readable.from(answer.body);
  };

  return {
    async document(target, mirrorUrl) {
      const text = await readAll(await ask(target), options.maxDocumentBytes);
      if (!text.trimStart().startsWith('{'))
        throw new UpstreamError(502, 'the registry sent no package document');
      return Buffer.from(pointAtMirror(text, target.package, mirrorUrl));
    },
    async tarball(target) {
      const url = new URL(registryPath(target), base).href;
      try {
        return await cache.get(url, () => ask(target));
      } catch (error) {
        if (error instanceof UpstreamError) throw error;
        throw new UpstreamError(502, `the tarball could not be read: ${causeOf(error)}`);
      }
    },
  };
}

/**
 * Rewrites the `tarball` addresses of a package document, which name the registry's own host. Works on the text, since documents
 * have megabytes and parsing them would cost more than fetching; inside JSON strings the quotes are escaped and do not match.
 */
export function pointAtMirror(document: string, name: string, mirrorUrl: string): string {
  return document.replace(
    /"tarball":\s*"(?:[^"\\?#]*\/)?([^"\\/?#]*)[^"\\]*"/g,
    (_, file: string) => `"tarball":${JSON.stringify(`${mirrorUrl}${name}/-/${file}`)}`,
  );
}

async function readAll(stream: Readable, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > maxBytes) {
      stream.destroy();
      throw new UpstreamError(502, `the document has more than ${maxBytes} bytes`);
    }
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function causeOf(error: unknown): string {
  if (error instanceof TooLargeError) return error.message;
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
