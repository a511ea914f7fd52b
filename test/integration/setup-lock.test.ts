// The lock of set-up between real processes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withLock } from '../../scripts/setup/lock.mjs';

const MODULE = resolve('scripts/setup/lock.mjs');

let folder = '';
let lock = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hasten-lock-'));
  lock = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A process that takes the lock, says so, and runs the given statements while it holds it. */
function holder(statements: string) {
  const code = `import { withLock } from ${JSON.stringify(MODULE)};
    import { appendFileSync } from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    const [lock, trace] = process.argv.slice(1);
    await withLock(lock, async () => { ${statements} }, { pollMs: 5 });`;
  const args = ['--input-type=module', '-e', code, lock, join(folder, 'trace')];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

test('lets processes in one after the other', async () => {
  const children = Array.from({ length: 6 }, () =>
    holder(`appendFileSync(trace, 'in '); await sleep(20); appendFileSync(trace, 'out ');`),
  );
  const exits = await Promise.all(children.map((child) => once(child, 'exit')));
  expect(exits.map(([code]) => code)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(readFileSync(join(folder, 'trace'), 'utf8')).toBe('in out '.repeat(6));
  expect(existsSync(lock)).toBe(false);
});

test('takes over the lock of a process that was killed', async () => {
  const child = holder(`console.log('held'); await sleep(60_000);`);
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(existsSync(lock)).toBe(true);
  expect(await withLock(lock, async () => 'done', { limitMs: 2000, pollMs: 5 })).toBe('done');
});

test('takes over the lock of a process whose id another one has now', async () => {
  writeFileSync(lock, JSON.stringify({ pid: process.pid, startedAt: '1' }));
  expect(await withLock(lock, async () => 'done', { limitMs: 2000, pollMs: 5 })).toBe('done');
});

test('gives up at its time limit and names who holds it', async () => {
  const child = holder(`console.log('held'); await sleep(60_000);`);
  await once(child.stdout, 'data');
  const waiting = withLock(lock, async () => 'done', { limitMs: 100, pollMs: 5 });
  await expect(waiting).rejects.toThrow(`process ${child.pid}`);
  child.kill('SIGKILL');
  await once(child, 'exit');
});

test('is free again after the action failed', async () => {
  const failing = withLock(lock, async () => {
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(existsSync(lock)).toBe(false);
});
