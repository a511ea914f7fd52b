// Set-up's build step with the real compiler on a small project.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildWhenStale } from '../../scripts/setup/build.mjs';
import { createContext } from '../../scripts/setup/context.mjs';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hasten-build-'));
  mkdirSync(join(root, 'src'));
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  const compilerOptions = {
    module: 'NodeNext',
    target: 'ES2023',
    types: [],
    skipLibCheck: true,
    strict: true,
    rootDir: 'src',
    outDir: 'dist',
  };
  writeFileSync(join(root, 'tsconfig.build.json'), JSON.stringify({ compilerOptions, include: ['src'] }));
  writeFileSync(join(root, 'src', 'main.ts'), 'export const answer: number = 42;\n');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

// A compiler start takes a second on an idle machine and many times that on a busy one.
const LIMIT_MS = 120_000;

const build = () => buildWhenStale(createContext({ root, log: () => {} }));

test(
  'compiles once, again after a change of the sources, and again when dist is gone',
  async () => {
    expect(await build()).toEqual({ built: true });
    expect(await build()).toEqual({ built: false });
    writeFileSync(join(root, 'src', 'main.ts'), 'export const answer: number = 43;\n');
    expect(await build()).toEqual({ built: true });
    expect(readFileSync(join(root, 'dist', 'main.js'), 'utf8')).toContain('43');
    rmSync(join(root, 'dist'), { recursive: true });
    expect(await build()).toEqual({ built: true });
  },
  LIMIT_MS,
);

test(
  'tells the compiler’s words and stays stale when the sources do not compile',
  async () => {
    writeFileSync(join(root, 'src', 'main.ts'), `export const answer: number = 'no';\n`);
    await expect(build()).rejects.toThrow(`Type 'string' is not assignable to type 'number'`);
    await expect(build()).rejects.toThrow('could not compile the sources');
    expect(existsSync(join(root, '.hasten', 'build.stamp'))).toBe(false);
  },
  LIMIT_MS,
);
