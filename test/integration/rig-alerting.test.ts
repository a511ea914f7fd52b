// The alerting peers of the rig: real Prometheus and Alertmanager, and child processes that leave nothing behind.
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { type Alerting, startAlerting } from '../support/alertmanager.js';
import { type ChildService, startChildService } from '../support/child-service.js';
import { asObject, at, type JsonObject, parseJson } from '../support/emulated-github/json.js';

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const entry of open.splice(0)) await entry.close();
});

interface Received {
  readonly authorization: string | undefined;
  readonly body: JsonObject;
}

async function startReceiver(): Promise<{ url: string; next(): Promise<Received> }> {
  const waiting: ((received: Received) => void)[] = [];
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = asObject(parseJson(Buffer.concat(chunks).toString('utf8')));
      const entry = { authorization: request.headers.authorization, body };
      const taker = waiting.shift();
      if (taker) taker(entry);
      else received.push(entry);
      response.writeHead(202).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/alerts`,
    next: () => {
      const entry = received.shift();
      return entry ? Promise.resolve(entry) : new Promise((resolve) => waiting.push(resolve));
    },
  };
}

async function start(...argv: [string, ...string[]]): Promise<ChildService> {
  const service = await startChildService({ argv });
  open.push(service);
  return service;
}

test('a metric above its threshold reaches the receiver as a firing alert with the bearer token, then as resolved', async () => {
  const receiver = await startReceiver();
  const labels = { hasten_repo: 'acme/app', route: '/checkout' };
  const alerting: Alerting = await startAlerting({ hastenUrl: receiver.url, token: 'sekrit', labels });
  open.push(alerting);
  alerting.fire();
  const firing = await receiver.next();
  expect(firing.authorization).toBe('Bearer sekrit');
  expect(firing.body).toMatchObject({ version: '4', status: 'firing', commonLabels: labels });
  alerting.resolve();
  const resolved = await receiver.next();
  expect(resolved.body.status).toBe('resolved');
  expect(at(resolved.body, 'groupKey')).toBe(at(firing.body, 'groupKey'));
});

test('a child service is waited for by log line, and gives its exit code on SIGTERM', async () => {
  const script =
    "process.on('SIGTERM', () => process.exit(3)); console.log('ready'); setInterval(() => {}, 1000)";
  const service = await start(process.execPath, '-e', script);
  await expect(service.waitForLine(/^ready$/)).resolves.toBe('ready');
  await expect(service.terminate()).resolves.toBe(3);
});

test('killing a child service ends what it has started too', async () => {
  const service = await start('sh', '-c', 'sleep 300 & echo "child $!"; wait');
  const [, pid = ''] = (await service.waitForLine(/^child/)).split(' ');
  expect(isAlive(Number(pid))).toBe(true);
  await service.kill('SIGKILL');
  await expect.poll(() => isAlive(Number(pid))).toBe(false);
});

test('waiting for a line of a service that ends says what it printed', async () => {
  const service = await start('sh', '-c', 'echo broken >&2; exit 7');
  await expect(service.waitForLine(/ready/)).rejects.toThrow('broken');
  expect(service.exit?.code).toBe(7);
});

/** A killed process that nobody has collected yet (a zombie) counts as ended. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
