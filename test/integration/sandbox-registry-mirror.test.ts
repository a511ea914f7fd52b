/** The registry mirror on a real unix socket, over a registry of the test's own. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createRegistryMirror,
  type MirrorSession,
  type RegistryMirror,
} from '../../src/sandbox/registry-mirror.js';
import { type PackageRegistry, startPackageRegistry } from '../support/package-registry.js';

let dataDir: string;
let registry: PackageRegistry;
let mirror: RegistryMirror;
let session: MirrorSession;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'hasten-test-registry-'));
  registry = await startPackageRegistry();
  await registry.publish({ 'package.json': JSON.stringify({ name: 'one', version: '1.0.0' }) });
  await registry.publish({ 'package.json': JSON.stringify({ name: '@s/two', version: '1.0.0' }) });
  mirror = createRegistryMirror({
    registryUrl: registry.url,
    dataDir,
    maxDocumentBytes: 5000,
    maxTarballBytes: 5000,
  });
  session = await mirror.open(new Set(['one', '@s/two', 'big']));
});

afterEach(async () => {
  await session.close();
  await registry.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function ask(
  path: string,
  method = 'GET',
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const socketPath = join(session.directory, 'registry.sock');
    const asked = request({ socketPath, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
      response.on('error', reject);
    });
    asked.on('error', reject);
    asked.end(method === 'PUT' || method === 'POST' ? '{}' : undefined);
  });
}

describe('the registry mirror', () => {
  it('serves documents whose tarballs point at the mirror, and the tarballs', async () => {
    const { status, body } = await ask('/@s%2ftwo');
    expect(status).toBe(200);
    const document: { versions: Record<string, { dist: { tarball: string } }> } = JSON.parse(body.toString());
    expect(document.versions['1.0.0']?.dist.tarball).toBe('http://127.0.0.1:3128/@s/two/-/two-1.0.0.tgz');
    const tarball = await ask('/@s/two/-/two-1.0.0.tgz');
    expect(tarball.status).toBe(200);
    expect(tarball.body.subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
    expect((await ask('/one', 'HEAD')).body.length).toBe(0);
  });

  it('keeps tarballs on disk, asks for each once, and leaves no partial file', async () => {
    await Promise.all([1, 2, 3, 4].map(() => ask('/one/-/one-1.0.0.tgz')));
    await ask('/one/-/one-1.0.0.tgz');
    expect(registry.requests.filter(({ url }) => url === '/one/-/one-1.0.0.tgz')).toHaveLength(1);
    const files = readdirSync(join(dataDir, 'registry'), { recursive: true }).map(String);
    expect(files.filter((name) => name.endsWith('.tgz'))).toHaveLength(1);
    expect(files.filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('passes neither query, headers nor any other method on', async () => {
    await ask('/one?secret=1', 'GET', { authorization: 'Bearer x', 'npm-session': 'y', cookie: 'z' });
    const [asked] = registry.requests;
    expect(asked?.url).toBe('/one');
    expect(JSON.stringify(asked?.headers)).not.toMatch(/Bearer|npm-session|cookie/);
    for (const method of ['PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE']) {
      expect((await ask('/one', method)).status, method).toBe(405);
    }
    expect(registry.requests).toHaveLength(1);
    expect(session.refusals()[0]).toMatch(/^PUT \/one: /);
  });

  it('refuses other names and other paths', async () => {
    for (const path of [
      '/three',
      '/-/whoami',
      '/one/../three',
      '/..%2fone',
      '/',
      '/one/-/..%2fx.tgz',
      'http://example.invalid/one',
    ]) {
      expect((await ask(path)).status, path).toBe(403);
    }
    expect(registry.requests).toEqual([]);
  });

  it('gives 404 on, and tells when the registry fails or sends too much', async () => {
    expect((await ask('/big')).status).toBe(404);
    expect(session.upstreamFailure()).toBeNull();
    registry.answer('/big', 200, JSON.stringify({ name: 'big', readme: 'x'.repeat(6000) }));
    expect((await ask('/big')).status).toBe(502);
    expect(session.upstreamFailure()).toContain('more than 5000 bytes');
    registry.answer('/big/-/big-1.0.0.tgz', 200, Buffer.alloc(6000));
    expect((await ask('/big/-/big-1.0.0.tgz')).status).toBe(502);
    registry.answer('/big', 500, 'boom');
    expect((await ask('/big')).status).toBe(502);
    registry.answer('/big', 200, 'no json');
    expect((await ask('/big')).status).toBe(502);
    const left = readdirSync(join(dataDir, 'registry'), { recursive: true }).map(String);
    expect(left.filter((name) => /\.(tgz|part)$/.test(name))).toEqual([]);
  });

  it('stops an installation that fetches too much in all', async () => {
    const narrow = createRegistryMirror({ registryUrl: registry.url, dataDir, maxTotalBytes: 10 });
    await session.close();
    session = await narrow.open(null);
    expect((await ask('/one')).status).toBe(200);
    expect((await ask('/@s/two')).status).toBe(403);
  });

  it('opens its socket to the sandbox user alone by a directory that can be entered, and removes it', async () => {
    expect(statSync(session.directory).mode & 0o777).toBe(0o711);
    expect(statSync(join(session.directory, 'registry.sock')).mode & 0o777).toBe(0o666);
    await session.close();
    expect(() => statSync(session.directory)).toThrow(/ENOENT/);
    session = await mirror.open(null);
    await mirror.sweep();
    expect(() => statSync(session.directory)).toThrow(/ENOENT/);
  });

  it('finds a short path for its socket when the data directory is deep', async () => {
    const deep = join(dataDir, 'd'.repeat(90));
    await session.close();
    session = await createRegistryMirror({ registryUrl: registry.url, dataDir: deep }).open(null);
    expect((await ask('/one')).status).toBe(200);
  });
});
