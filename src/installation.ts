/** Who this installation of Hasten is: a random id in its data folder, the label on everything that it makes in Docker. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Image that set-up makes; `HASTEN_SANDBOX_IMAGE` names another. */
export const SANDBOX_IMAGE = 'hasten-sandbox:latest';

/** Reads the id of a data folder, or makes folder and id. */
export function installationId(dataDir: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const file = join(dataDir, 'installation-id');
  const known = readIfThere(file);
  // An empty file was left by a kill between making and writing it: an id of nothing would own everything.
  if (known !== '') return known;
  const id = randomUUID();
  const fresh = `${file}.${id}`;
  writeFileSync(fresh, `${id}\n`);
  renameSync(fresh, file);
  return id;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}
