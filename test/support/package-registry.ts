/** A package registry on loopback that serves what a test publishes, and notes every request; the mirror's source in tests. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

export interface PublishedPackage {
  readonly name: string;
  readonly version: string;
  /** `sha512-…` as lockfiles hold it. */
  readonly integrity: string;
  readonly shasum: string;
  readonly file: string;
}

export interface PackageRegistry {
  readonly url: string;
  /** Requests so far: method, path and headers. */
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
  }[];
  /** Publishes a package: path → content, `package.json` included. */
  publish(files: Readonly<Record<string, string>>): Promise<PublishedPackage>;
  /** Answers this path by hand. */
  answer(path: string, status: number, body: Buffer | string): void;
  close(): Promise<void>;
}

export async function startPackageRegistry(): Promise<PackageRegistry> {
  const answers = new Map<string, { readonly status: number; readonly body: Buffer | string }>();
  const requests: { method: string; url: string; headers: IncomingMessage['headers'] }[] = [];
  const server = createServer((request, response) => {
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    const found = answers.get((request.url ?? '').replace(/%2f/i, '/'));
    response.writeHead(found?.status ?? 404);
    response.end(found?.body ?? '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = `http://127.0.0.1:${address.port}/`;
  return {
    url,
    requests,
    answer: (path, status, body) => void answers.set(path, { status, body }),
    async publish(files) {
      const manifest: { name: string; version: string } = JSON.parse(files['package.json'] ?? '{}');
      const { name, version } = manifest;
      const tarball = await tarballOf(files);
      const file = `${name.split('/').at(-1)}-${version}.tgz`;
      const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
      const shasum = createHash('sha1').update(tarball).digest('hex');
      const dist = { integrity, shasum, tarball: `${url}${name}/-/${file}` };
      const document = {
        name,
        'dist-tags': { latest: version },
        versions: { [version]: { ...manifest, dist } },
      };
      answers.set(`/${name}`, { status: 200, body: JSON.stringify(document) });
      answers.set(`/${name}/-/${file}`, { status: 200, body: tarball });
      return { name, version, integrity, shasum, file };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function tarballOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const archive = pack();
  for (const [path, content] of Object.entries(files)) archive.entry({ name: `package/${path}` }, content);
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return gzipSync(Buffer.concat(chunks));
}
