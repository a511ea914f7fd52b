/** The only way out of the dependency phase: a GET-only mirror of the package registry on a unix socket of its own. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { PeerError } from '../domain/errors.js';
import { parseRegistryPath, type RegistryTarget } from './registry-path.js';
import { createRegistryUpstream, type RegistryUpstream, UpstreamError } from './registry-upstream.js';

export interface MirrorSession {
  /** Host directory to mount read-only at `/run/egress`; holds the socket alone. */
  readonly directory: string;
  /** Requests that were refused, `METHOD path`, at most 20. */
  refusals(): readonly string[];
  /** What the registry failed with, or null. */
  upstreamFailure(): string | null;
  close(): Promise<void>;
}

export interface RegistryMirror {
  /** Opens a socket for one installation. `allowed`: package names that the lockfile holds, or null for any name. */
  open(allowed: ReadonlySet<string> | null): Promise<MirrorSession>;
  /** Removes socket directories that a killed service left. */
  sweep(): Promise<void>;
}

export interface RegistryMirrorOptions {
  readonly registryUrl: string;
  /** Directory of this installation. */
  readonly dataDir: string;
  /** Bytes of one package document; default 64 MiB. */
  readonly maxDocumentBytes?: number;
  /** Bytes of one tarball; default 256 MiB. */
  readonly maxTarballBytes?: number;
  /** Bytes that one installation may fetch; default 2 GiB. */
  readonly maxTotalBytes?: number;
}

export const MIRROR_URL = 'http://127.0.0.1:3128/';
export const EGRESS_MOUNT = '/run/egress';
const SOCKET_NAME = 'registry.sock';
/** Longest path of a unix socket on Linux is 107 bytes. */
const SOCKET_PATH_BYTES = 100;
const MAX_CONNECTIONS = 128;
/** Longer than any client keeps an idle connection: one that the server closes first can meet a request on its way. */
const KEEP_ALIVE_MS = 300_000;
const UPSTREAM_TIMEOUT_MS = 120_000;
const MIB = 2 ** 20;

export function createRegistryMirror(options: RegistryMirrorOptions): RegistryMirror {
  const upstream = createRegistryUpstream({
    registryUrl: options.registryUrl,
    cacheDir: join(options.dataDir, 'registry'),
    maxDocumentBytes: options.maxDocumentBytes ?? 64 * MIB,
    maxTarballBytes: options.maxTarballBytes ?? 256 * MIB,
    timeoutMs: UPSTREAM_TIMEOUT_MS,
  });
  const root = socketRoot(options.dataDir);
  return {
    async open(allowed) {
      await ensureOwnDirectory(root);
      const directory = await mkdtemp(join(root, 's-'));
      const handler = createMirrorHandler(upstream, allowed, options.maxTotalBytes ?? 2048 * MIB);
      const server = createServer(
        { requestTimeout: UPSTREAM_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS },
        handler.handle,
      );
      server.maxConnections = MAX_CONNECTIONS;
      await listen(server, join(directory, SOCKET_NAME));
      await chmod(directory, 0o711);
      await chmod(join(directory, SOCKET_NAME), 0o666);
      return {
        directory,
        refusals: handler.refusals,
        upstreamFailure: handler.upstreamFailure,
        async close() {
          server.closeAllConnections();
          await new Promise((resolve) => server.close(resolve));
          await rm(directory, { recursive: true, force: true });
        },
      };
    },
    sweep: () => rm(root, { recursive: true, force: true }),
  };
}

export interface MirrorHandler {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  readonly refusals: () => readonly string[];
  readonly upstreamFailure: () => string | null;
}

/** GET and HEAD of documents and tarballs of allowed names; other methods 405, other paths and names 403. */
export function createMirrorHandler(
  upstream: RegistryUpstream,
  allowed: ReadonlySet<string> | null,
  maxTotalBytes: number,
): MirrorHandler {
  const refused: string[] = [];
  let failure: string | null = null;
  let total = 0;

  const serve = async (request: IncomingMessage, response: ServerResponse, target: RegistryTarget) => {
    const head = request.method === 'HEAD';
    if (target.kind === 'document') {
      const body = await upstream.document(target, MIRROR_URL);
      total += body.length;
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
      response.end(head ? undefined : body);
      return;
    }
    const tarball = await upstream.tarball(target);
    total += tarball.bytes;
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': tarball.bytes });
    if (head) response.end();
    else await pipeline(createReadStream(tarball.path), response);
  };

  const refuse = (request: IncomingMessage, response: ServerResponse, status: number, reason: string) => {
    if (refused.length < 20)
      refused.push(`${request.method} ${(request.url ?? '').slice(0, 200)}: ${reason}`);
    answer(response, status, reason);
  };

  const handle = (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      refuse(request, response, 405, 'the mirror is read-only');
      return;
    }
    const target = parseRegistryPath(request.url ?? '');
    if (target === null) {
      refuse(request, response, 403, 'neither a package document nor a tarball');
      return;
    }
    if (allowed !== null && !allowed.has(target.package)) {
      refuse(request, response, 403, `${target.package} is not in the lockfile`);
      return;
    }
    if (total > maxTotalBytes) {
      refuse(request, response, 403, `more than ${maxTotalBytes} bytes were fetched`);
      return;
    }
    serve(request, response, target).catch((error: unknown) => {
      const status = error instanceof UpstreamError ? error.status : 502;
      const message = error instanceof Error ? error.message : String(error);
      if (status !== 404) failure ??= `${target.package}: ${message}`;
      if (response.headersSent) response.destroy();
      else answer(response, status, message);
    });
  };

  return { handle, refusals: () => refused, upstreamFailure: () => failure };
}

function answer(response: ServerResponse, status: number, reason: string): void {
  const body = JSON.stringify({ error: reason });
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}

/** In a shared temporary directory somebody else could have made it first. */
async function ensureOwnDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o711 });
  const found = await lstat(path);
  if (found.isDirectory() && found.uid === process.getuid?.()) return;
  throw new PeerError({
    code: 'SOCKET_DIRECTORY_TAKEN',
    message: `${path} belongs to somebody else; remove it or set a data directory with a shorter path`,
    retryable: false,
  });
}

/** Sockets have short paths; where the data directory is deep they stand below the temporary directory. */
function socketRoot(dataDir: string): string {
  const near = join(dataDir, 'egress');
  if (Buffer.byteLength(join(near, 's-XXXXXX', SOCKET_NAME)) <= SOCKET_PATH_BYTES) return near;
  return join(tmpdir(), `hasten-egress-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`);
}
