import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { installationId } from '../../src/installation.js';

const directory = mkdtempSync(join(tmpdir(), 'hasten-installation-'));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('the id of an installation', () => {
  it('is made once and stays, with nothing else left in the folder', () => {
    const dataDir = join(directory, 'new', 'data');
    const id = installationId(dataDir);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(installationId(dataDir)).toBe(id);
    expect(readdirSync(dataDir)).toEqual(['installation-id']);
  });

  it('is made anew when a kill left an empty file, since an empty id would own what others made', () => {
    const dataDir = join(directory, 'killed');
    installationId(dataDir);
    writeFileSync(join(dataDir, 'installation-id'), '');
    const id = installationId(dataDir);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(installationId(dataDir)).toBe(id);
  });
});
