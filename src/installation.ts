/** Who this installation of Hasten is: a random id in its data folder, the label on everything that it makes in Docker. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Reads the id of a data folder, or makes folder and id. */
export function installationId(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const file = join(dataDir, 'installation-id');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    const id = randomUUID();
    writeFileSync(file, `${id}\n`, { flag: 'wx' });
    return id;
  }
}
