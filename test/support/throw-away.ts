/** Removes what an installation of Hasten made in the Docker engine, caches too, when its data folder is thrown away. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

async function docker(...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run('docker', [...args], { timeout: 60_000 });
  return stdout.split('\n').filter((line) => line !== '');
}

/** Nothing is removed for a folder that never held an installation, or without an engine. */
export async function throwAwayInstallation(dataDir: string): Promise<void> {
  let owner: string;
  try {
    owner = readFileSync(join(dataDir, 'installation-id'), 'utf8').trim();
  } catch {
    return;
  }
  if (owner === '') return;
  const own = `label=hasten.owner=${owner}`;
  try {
    const containers = await docker('ps', '--all', '--quiet', '--filter', own);
    if (containers.length > 0) await docker('rm', '--force', '--volumes', ...containers);
    const volumes = await docker('volume', 'ls', '--quiet', '--filter', own);
    if (volumes.length > 0) await docker('volume', 'rm', '--force', ...volumes);
  } catch {
    // An engine that is away keeps them; the next installation's reaper does not own them, and nobody waits for it.
  }
}
