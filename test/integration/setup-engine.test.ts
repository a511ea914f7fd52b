// Set-up's engine step against a real dockerd of its own, in namespaces that shield the engine of this machine.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createContext } from '../../scripts/setup/context.mjs';
import { ensureEngine } from '../../scripts/setup/engine.mjs';

const run = promisify(execFile);
const DRIVER = resolve('test/support/setup/killed-engine.mjs');
const NAMESPACES = ['--mount', '--net', '--pid', '--fork', '--mount-proc', '--kill-child'];

const engine = z.object({ how: z.enum(['answered', 'started']) });
const report = z.object({
  first: engine,
  second: engine,
  third: engine,
  seconds: z.number(),
  state: z.string(),
  fresh: z.string(),
  engines: z.number(),
  sleepers: z.number(),
  log: z.array(z.string()),
});

describe('an engine that was killed', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'hasten-engine-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    ['daemons', []],
    ['everything', ['--reuse-pids']],
    ['all but the containers', []],
  ])(
    'is started again in seconds after kill -9 of %s, once for two callers',
    async (way, extra) => {
      const env = { ...process.env, TMPDIR: folder, DOCKER_HOST: '' };
      const { stdout } = await run(
        'unshare',
        [...NAMESPACES, process.execPath, DRIVER, way, folder, ...extra],
        { env },
      );
      const seen = report.parse(JSON.parse(stdout));
      expect(seen.first.how).toBe('started');
      expect([seen.second.how, seen.third.how].sort()).toEqual(['answered', 'started']);
      expect(seen.seconds).toBeLessThan(20);
      expect(seen).toMatchObject({ state: 'exited', engines: 1, sleepers: 0 });
      expect(seen.fresh).toContain('sleep (GNU coreutils)');
      expect(seen.log.join('\n')).toContain('of an engine that was killed');
    },
    120_000,
  );
});

test('an engine that DOCKER_HOST names and that does not answer is told, not replaced', async () => {
  const before = process.env.DOCKER_HOST;
  process.env.DOCKER_HOST = 'unix:///nowhere/docker.sock';
  try {
    const context = createContext({ log: () => {}, yes: true });
    await expect(ensureEngine(context)).rejects.toThrow(
      'DOCKER_HOST is unix:///nowhere/docker.sock and no engine answers',
    );
  } finally {
    if (before === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = before;
  }
});
