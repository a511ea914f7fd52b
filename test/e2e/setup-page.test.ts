import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ChildService, startChildService } from '../support/child-service.js';
import { freePort } from '../support/free-port.js';

const SERVICE = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const START_MS = 45_000;

let service: ChildService | null = null;
const directories: string[] = [];

afterEach(async () => {
  await service?.close();
  service = null;
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** The service with nothing in its environment but where it listens, in a folder of its own. */
async function startWithout(env: Readonly<Record<string, string>>) {
  const directory = mkdtempSync(join(tmpdir(), 'hasten-first-start-'));
  directories.push(directory);
  const port = await freePort();
  service = await startChildService({
    argv: [process.execPath, SERVICE],
    env: { PORT: String(port), HOME: directory, ...env },
    cwd: directory,
  });
  return { child: service, directory, port, url: `http://127.0.0.1:${port}` };
}

describe('a service without credentials', () => {
  it(
    'serves the set-up page on loopback alone, whatever HOST says, with the manifest of app.yml wherever it was started',
    async () => {
      const { child, port, url } = await startWithout({ HOST: '0.0.0.0' });
      await child.waitForHttp(`${url}/probot`, START_MS);
      const page = await (await fetch(`${url}/probot`)).text();
      const manifest = manifestOf(page);
      expect(manifest).toMatchObject({ public: false, redirect_url: `${url}/probot/setup` });
      expect(manifest.default_permissions).toMatchObject({ contents: 'write', pull_requests: 'write' });
      expect(manifest.default_permissions).not.toHaveProperty('workflows');
      expect(manifest.default_permissions).not.toHaveProperty('administration');
      for (const address of outsideAddresses()) {
        await expect(fetch(`http://${address}:${port}/probot`)).rejects.toThrow();
      }
      const health = await fetch(`${url}/health`);
      expect(health.status).toBe(503);
      expect(await health.json()).toMatchObject({
        status: 'degraded',
        github: { ok: false, detail: expect.stringContaining('not registered') },
      });
      const webhook = await fetch(`${url}/api/github/webhooks`, { method: 'POST', body: '{}' });
      expect(webhook.status).toBe(404);
      expect(child.lines().join('\n')).toContain(`open http://127.0.0.1:${port}/`);
      expect(await child.terminate()).toBe(0);
    },
    START_MS * 2,
  );

  it(
    'takes credentials of an App that exists already and starts with them the next time',
    async () => {
      const { child, directory, url } = await startWithout({});
      await child.waitForHttp(`${url}/probot/import`, START_MS);
      const imported = await fetch(`${url}/probot/import`, {
        method: 'POST',
        body: JSON.stringify({
          appId: '4711',
          pem: 'not read before the next start',
          webhook_secret: 'said',
        }),
      });
      expect(imported.status).toBe(200);
      const file = join(directory, '.env');
      expect(statSync(file).mode & 0o077).toBe(0);
      expect(readFileSync(file, 'utf8')).toContain('APP_ID=4711');
      expect(await child.terminate()).toBe(0);
      expect(readdirSync(directory).sort()).toEqual(['.env', '.hasten']);
    },
    START_MS * 2,
  );

  it(
    'does not serve it with NODE_ENV=production, and says what is missing in one sentence',
    async () => {
      const { child } = await startWithout({ NODE_ENV: 'production' });
      expect(await child.waitForExit(START_MS)).toBe(1);
      const said = child.lines(/APP_ID and PRIVATE_KEY are not set/);
      expect(said).toHaveLength(1);
      expect(child.lines(/^\s+at /)).toEqual([]);
    },
    START_MS * 2,
  );
});

const manifestShape = z.looseObject({
  public: z.boolean(),
  redirect_url: z.string(),
  default_permissions: z.record(z.string(), z.string()),
});

/** The form field that the page posts to GitHub. */
function manifestOf(page: string) {
  const field = /name="manifest"[^>]*value='([^']*)'/.exec(page)?.[1];
  if (field === undefined) throw new Error(`The page holds no manifest: ${page.slice(0, 2000)}`);
  const text = field.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
  return manifestShape.parse(JSON.parse(text));
}

function outsideAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter((address) => !address.internal && address.family === 'IPv4')
    .map(({ address }) => address);
}
