/** What a run leaves behind where nobody looks by eye: containers and volumes, rows of the database, calls to the model. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { openSqlite } from '../../src/store/sqlite-database.js';
import type { Stage } from '../support/stage.js';

const run = promisify(execFile);

async function docker(...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run('docker', [...args]);
  return stdout.split('\n').filter((line) => line !== '');
}

/** Containers of an installation, and its volumes that belong to a run (caches of trees and dependencies stay). */
export async function sandboxLeftovers(dataDir: string): Promise<readonly string[]> {
  return leftoversOf(ownerOf(dataDir));
}

/** The id by which an installation labels what it makes. */
export function ownerOf(dataDir: string): string {
  return readFileSync(join(dataDir, 'installation-id'), 'utf8').trim();
}

/** The same by the owner's label. */
export async function leftoversOf(owner: string): Promise<readonly string[]> {
  const own = `label=hasten.owner=${owner}`;
  const containers = await docker('ps', '--all', '--filter', own, '--format', '{{.Names}}');
  const volumes = await docker(
    'volume',
    'ls',
    '--filter',
    own,
    '--filter',
    'label=hasten.run',
    '--format',
    '{{.Name}}',
  );
  return [...containers, ...volumes];
}

/** Removes the caches of an installation that a test made. */
export async function removeCaches(owner: string): Promise<void> {
  const names = await docker('volume', 'ls', '--quiet', '--filter', `label=hasten.owner=${owner}`);
  if (names.length > 0) await run('docker', ['volume', 'rm', '--force', ...names]);
}

/** Rows of the service's database while it runs or afterwards; `sql` is the test's own. */
export async function rowsOf<T>(dataDir: string, sql: string): Promise<readonly T[]> {
  const database = openSqlite(join(dataDir, 'hasten.db'));
  try {
    return await database.tx((tx) => tx.all<T>(sql));
  } finally {
    await database.close();
  }
}

/** Calls of the model, each once: station, attempt of the run, place in the conversation. */
export function distinctTurns(stage: Stage): ReadonlySet<string> {
  const calls = stage.model?.calls() ?? [];
  return new Set(calls.map((call) => `${call.station} ${call.attempt} ${call.position}`));
}

/** Every turn was paid once, except for so many answers that were lost with the process; those stay booked. */
export async function expectTurnsPaidOnce(stage: Stage, lostAtMost: number): Promise<void> {
  const calls = stage.model?.calls().length ?? 0;
  const lost = calls - distinctTurns(stage).size;
  expect(lost).toBeGreaterThanOrEqual(0);
  expect(lost).toBeLessThanOrEqual(lostAtMost);
  const [booked] = await rowsOf<{ bookings: number; open: number }>(
    stage.dataDir,
    'select count(*) as bookings, sum(settled = 0) as open from reservation',
  );
  // A call that was booked but never left is a booking without a call.
  expect(booked?.bookings).toBeGreaterThanOrEqual(calls);
  expect(booked?.open ?? 0).toBeLessThanOrEqual(lostAtMost);
}

/** Each write that people see was taken by GitHub once, not made again and tidied up afterwards. */
export function expectWritesOnce(stage: Stage, repository: string): void {
  const made = stage.github.requests({ method: 'POST', caller: 'installation' });
  const writes = ['git/refs', 'pulls', 'check-runs', 'issues/\\d+/comments'].map((path) => {
    const at = new RegExp(`^/repos/${repository}/${path}$`);
    return `${path} ${made.filter((entry) => at.test(entry.path) && entry.status === 201).length}`;
  });
  expect(writes).toEqual(['git/refs 1', 'pulls 1', 'check-runs 1', 'issues/\\d+/comments 1']);
}

/** Nothing of a run is left in Docker and one lesson is stored, within seconds after the run's end. */
export async function expectTidyEnd(stage: Stage): Promise<void> {
  await expect.poll(() => sandboxLeftovers(stage.dataDir), { timeout: 20_000, interval: 300 }).toEqual([]);
  const lessons = await rowsOf<{ run_id: string }>(stage.dataDir, 'select run_id from lesson');
  expect(lessons).toHaveLength(1);
}
