import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EDIT_FILE, READ_FILE, REFUSED, WRITE_FILE } from '../../src/planner/workspace-scripts.js';

let outer: string;
let root: string;

beforeEach(() => {
  outer = mkdtempSync(join(tmpdir(), 'hasten-scripts-'));
  root = join(outer, 'ws');
  mkdirSync(join(root, '.git'), { recursive: true });
  writeFileSync(join(root, 'a.js'), 'one\ntwo\nthree\n');
  writeFileSync(join(root, '.git', 'config'), 'x');
  writeFileSync(join(outer, 'secret'), 'outside');
  symlinkSync('../secret', join(root, 'leak'));
  symlinkSync('..', join(root, 'up'));
  symlinkSync('/nowhere/at/all', join(root, 'dangling'));
  symlinkSync('.git', join(root, 'hidden'));
  symlinkSync('a.js', join(root, 'inner'));
});
afterEach(() => rmSync(outer, { recursive: true, force: true }));

function run(script: string, input: Record<string, string | number>) {
  const done = spawnSync(process.execPath, ['--input-type=commonjs', '-e', script], {
    input: JSON.stringify({ root, ...input }),
    cwd: root,
    encoding: 'utf8',
  });
  return { code: done.status, text: done.stdout, error: done.stderr };
}

const read = (path: string, first = 1, last = 500) => run(READ_FILE, { path, first, last });

describe('reading a file in the workspace', () => {
  it('gives the lines asked for and names them', () => {
    expect(read('a.js', 2, 3)).toMatchObject({ code: 0, text: '[a.js, lines 2-3 of 3]\ntwo\nthree\n' });
  });

  it('follows a link that stays inside', () => {
    expect(read('inner').text).toContain('one');
  });

  it.each(['leak', 'up/secret', 'dangling', 'hidden/config', 'missing', '.'])('refuses %s', (path) => {
    const done = read(path);
    expect(done.code).toBe(REFUSED);
    expect(done.text).not.toContain('outside\n');
    expect(done.error).toBe('');
  });

  it('refuses what is no text', () => {
    writeFileSync(join(root, 'b.bin'), Buffer.from([1, 0, 2]));
    expect(read('b.bin')).toMatchObject({ code: REFUSED });
  });
});

describe('editing a file in the workspace', () => {
  const edit = (path: string, old: string, replacement: string) =>
    run(EDIT_FILE, { path, old, new: replacement });

  it('replaces the one place, taking the new text literally', () => {
    expect(edit('a.js', 'two', '$& $1').code).toBe(0);
    expect(readFileSync(join(root, 'a.js'), 'utf8')).toBe('one\n$& $1\nthree\n');
  });

  it.each([
    ['text that occurs twice', 'e\n'],
    ['text that does not occur', 'four'],
  ])('refuses %s and leaves the file', (_, old) => {
    expect(edit('a.js', old, 'x').code).toBe(REFUSED);
    expect(readFileSync(join(root, 'a.js'), 'utf8')).toBe('one\ntwo\nthree\n');
  });

  it('sees overlapping occurrences as more than one', () => {
    writeFileSync(join(root, 'o.js'), 'aaa');
    expect(edit('o.js', 'aa', 'b').code).toBe(REFUSED);
  });

  it.each(['leak', 'up/secret', 'inner', 'hidden/config', 'dangling'])('refuses to edit %s', (path) => {
    expect(edit(path, 'o', 'x').code).toBe(REFUSED);
    expect(readFileSync(join(outer, 'secret'), 'utf8')).toBe('outside');
  });
});

describe('writing a file in the workspace', () => {
  const write = (path: string, content: string) => run(WRITE_FILE, { path, content });

  it('makes folders as needed and keeps the mode of an existing file', () => {
    expect(write('new/deep/f.js', 'x').code).toBe(0);
    expect(readFileSync(join(root, 'new/deep/f.js'), 'utf8')).toBe('x');
    chmodSync(join(root, 'a.js'), 0o755);
    write('a.js', 'y');
    expect(statSync(join(root, 'a.js')).mode & 0o777).toBe(0o755);
  });

  it.each(['leak', 'up/new', 'dangling', 'hidden/hooks', 'a.js/x', '.git'])('refuses to write %s', (path) => {
    expect(write(path, 'x').code).not.toBe(0);
    expect(readFileSync(join(outer, 'secret'), 'utf8')).toBe('outside');
    expect(readFileSync(join(root, '.git', 'config'), 'utf8')).toBe('x');
  });
});
