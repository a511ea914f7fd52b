import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { readServiceSettings, withEnvFile } from '../../src/config/service-settings.js';
import { startIngress } from '../../src/ingress/ingress-server.js';
import { WEBHOOK_PATH } from '../../src/ingress/routes.js';
import { startSetupPage } from '../../src/ingress/setup-page.js';
import { freePort } from '../support/free-port.js';
import { HEALTHY, PRIVATE_KEY, signatureOf, startIngressRig } from '../support/ingress-rig.js';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

describe('the server', () => {
  it('tells at /health what is missing, with 503 while something is', async () => {
    let report = HEALTHY;
    let checks = 0;
    const rig = await startIngressRig({}, async () => {
      checks += 1;
      return report;
    });
    closers.push(rig.close);
    const answers = await Promise.all([1, 2, 3].map(() => fetch(`${rig.url}/health`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await answers[0]?.json()).toEqual(HEALTHY);
    expect(checks).toBe(1);
    report = { ...HEALTHY, status: 'degraded', docker: { ok: false, detail: 'does not answer' } };
    await expect
      .poll(async () => (await fetch(`${rig.url}/health`)).status, { timeout: 8000, interval: 300 })
      .toBe(503);
    expect((await fetch(`${rig.url}/ready`)).status).toBe(200);
  });

  it('answers JSON at addresses where nothing is', async () => {
    const rig = await startIngressRig();
    closers.push(rig.close);
    const answer = await fetch(`${rig.url}/nothing`);
    expect([answer.status, await answer.json()]).toMatchObject([404, { error: 'NOT_FOUND' }]);
    expect((await fetch(`${rig.url}/ping`)).status).toBe(200);
  });

  it('finishes what is in flight when it stops, and takes nothing new', async () => {
    const rig = await startIngressRig();
    const body = '{"action":"labeled","zen":"half of it comes later"}';
    const half = request(`${rig.url}${WEBHOOK_PATH}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': String(body.length),
        'x-github-event': 'ping',
        'x-github-delivery': 'in-flight',
        'x-hub-signature-256': signatureOf(body),
      },
    });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      half.on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      half.on('error', reject);
    });
    half.write(body.slice(0, 20));
    await expect.poll(() => fetch(`${rig.url}/ready`).then(({ status }) => status)).toBe(200);
    const stopped = rig.ingress.stop(5000);
    await expect(fetch(`${rig.url}/ready`)).rejects.toThrow();
    half.end(body.slice(20));
    expect(await answered).toBe(202);
    await stopped;
    await rig.close();
  });

  it('cuts off after the grace period what does not end', async () => {
    const rig = await startIngressRig();
    const hanging = request(`${rig.url}${WEBHOOK_PATH}`, {
      method: 'POST',
      headers: { 'content-length': '100' },
    });
    hanging.on('error', () => undefined);
    hanging.write('x');
    await expect.poll(() => fetch(`${rig.url}/ready`).then(({ status }) => status)).toBe(200);
    const started = performance.now();
    await rig.ingress.stop(300);
    expect(performance.now() - started).toBeLessThan(3000);
    await rig.close();
  });
});

describe('the set-up page', () => {
  it('is served on loopback only, whatever HOST says, and registers the App of app.yml', async () => {
    const settings = readServiceSettings(
      { HOST: '0.0.0.0', PORT: String(await freePort()), HASTEN_PUBLIC_URL: 'https://hasten.example.org/' },
      tmpdir(),
    );
    const log = pino({ level: 'silent' });
    const inbox = { store: unused, takeToken: unused };
    const ingress = await startIngress({ settings, inbox, health: () => Promise.resolve(HEALTHY), log });
    closers.push(() => ingress.stop());
    expect([ingress.mode, ingress.host]).toEqual(['setup', '127.0.0.1']);
    const page = await (await fetch(`http://127.0.0.1:${ingress.port}/probot`)).text();
    expect(page).toContain('"public":false');
    expect(page).toContain('"url":"https://hasten.example.org/api/github/webhooks"');
    for (const address of Object.values(networkInterfaces()).flatMap((list) => list ?? [])) {
      if (address.internal || address.family !== 'IPv4') continue;
      await expect(fetch(`http://${address.address}:${ingress.port}/probot`)).rejects.toThrow();
    }
    expect(
      (await fetch(`http://127.0.0.1:${ingress.port}${WEBHOOK_PATH}`, { method: 'POST' })).status,
    ).not.toBe(202);
  });

  it('writes credentials into a .env that only the owner reads, and the next start takes them', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'hasten-setup-'));
    const settings = readServiceSettings({ PORT: String(await freePort()) }, directory);
    const page = await startSetupPage({
      settings,
      log: pino({ level: 'silent' }),
      health: () => Promise.resolve(HEALTHY),
      directory,
    });
    closers.push(async () => {
      await page.stop();
      rmSync(directory, { recursive: true, force: true });
    });
    const answer = await fetch(`http://127.0.0.1:${page.port}/probot/import`, {
      method: 'POST',
      body: JSON.stringify({ appId: '4711', pem: PRIVATE_KEY, webhook_secret: 'from-the-set-up-page' }),
    });
    expect(answer.status).toBe(200);
    const file = join(directory, '.env');
    expect(statSync(file).mode & 0o077).toBe(0);
    const { app } = readServiceSettings(withEnvFile({}, readFileSync(file, 'utf8')), directory);
    expect(app).toMatchObject({ id: 4711, webhookSecret: 'from-the-set-up-page' });
  });
});

function unused(): never {
  throw new Error('the set-up page stores nothing');
}
