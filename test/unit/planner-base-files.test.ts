import { describe, expect, it } from 'vitest';
import type { SourceMirror } from '../../src/domain/repository.js';
import { createBaseFiles, untilTouched } from '../../src/planner/base-files.js';
import { sampleRepository } from '../support/run-samples.js';

const NEVER = () => {
  throw new Error('not expected to be called');
};

function baseOf(
  files: Readonly<Record<string, string | Buffer>>,
  modes: Readonly<Record<string, string>> = {},
) {
  const mirror: SourceMirror = {
    fetch: NEVER,
    applyPatch: NEVER,
    archive: NEVER,
    writeBranch: NEVER,
    readFile: async (_, __, path) => {
      const content = modes[path] === undefined ? files[path] : undefined;
      return content === undefined ? null : Buffer.from(content);
    },
    listFiles: async () =>
      Object.keys(files).map((path) => ({ path, mode: modes[path] ?? '100644', sha: 'a', size: 1 })),
  };
  return createBaseFiles(mirror, sampleRepository(), 'c'.repeat(40), 200);
}

describe('files of the base commit', () => {
  it('lists all of them, or those below a folder, without submodules', async () => {
    const base = baseOf({ 'a.js': '', 'lib/b.js': '', 'library.js': '', sub: '' }, { sub: '160000' });
    expect(await base.list('.')).toBe('a.js\nlib/b.js\nlibrary.js\n');
    expect(await base.list('lib/')).toBe('lib/b.js\n');
    expect(await base.list('a.js')).toBe('a.js\n');
  });

  it('leaves empty listings and names that git quotes to the sandbox', async () => {
    expect(await baseOf({ 'a.js': '' }).list('gone')).toBeNull();
    expect(await baseOf({ 'a\nb.js': '' }).list('.')).toBeNull();
  });

  it('reads the lines asked for, under a heading that names them', async () => {
    const base = baseOf({ 'a.js': 'one\ntwo\nthree\n', 'empty.js': '' });
    expect(await base.read('a.js', 1, 500)).toBe('[a.js, lines 1-3 of 3]\none\ntwo\nthree\n');
    expect(await base.read('a.js', 2, 2)).toBe('[a.js, lines 2-2 of 3]\ntwo\n');
    expect(await base.read('a.js', 9, 12)).toBe('[a.js, lines 3-3 of 3]\nthree\n');
    expect(await base.read('empty.js', 1, 500)).toBe('[empty.js, lines 1-0 of 0]\n\n');
  });

  it('leaves what is no text of the commit to the sandbox', async () => {
    const base = baseOf(
      { 'a.bin': Buffer.from([1, 0, 2]), 'latin.txt': Buffer.from([0xe9]), link: 'a.js' },
      { link: '120000' },
    );
    for (const path of ['a.bin', 'latin.txt', 'link', 'node_modules/x/index.js', 'gone.js'])
      expect(await base.read(path, 1, 500)).toBeNull();
  });

  it('leaves everything to the sandbox once the workspace may differ', async () => {
    let touched = false;
    const base = untilTouched(baseOf({ 'a.js': 'one\n' }), () => touched);
    expect(await base.list('.')).toBe('a.js\n');
    expect(await base.read('a.js', 1, 500)).toContain('one');
    touched = true;
    expect(await base.list('.')).toBeNull();
    expect(await base.read('a.js', 1, 500)).toBeNull();
  });

  it('bounds what one call returns', async () => {
    const text = await baseOf({ 'long.js': 'x'.repeat(5000) }).read('long.js', 1, 500);
    expect(Buffer.byteLength(text ?? '')).toBeLessThanOrEqual(200);
    expect(text).toContain('left out');
  });
});
