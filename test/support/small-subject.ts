/** A small library with a quadratic hot spot, for end-to-end runs that need no published package. */

const SLOW = `/** The values of a list without repeats, in the order of their first appearance. */
export function unique(values) {
  const seen = [];
  for (const value of values) {
    if (!seen.includes(value)) seen.push(value);
  }
  return seen;
}
`;

const FAST = `/** The values of a list without repeats, in the order of their first appearance. */
export function unique(values) {
  return [...new Set(values)];
}
`;

const BENCHMARK = `// 3000 values, 1500 of them different. argv[2] = path of the module under test.
const { unique } = await import(process.argv[2]);
const values = Array.from({ length: 3000 }, (_, i) => (i * 7919) % 1500);
export function run() {
  return unique(values).length;
}
export function checksum() {
  return unique(values).join(',') + unique(['b', 'a', 'b']).join(',');
}
`;

const HELD_BACK = `// 1600 words, 900 of them different, repeats close together. argv[2] = path of the module under test.
const { unique } = await import(process.argv[2]);
const words = Array.from({ length: 1600 }, (_, i) => 'w' + (i % 7 === 0 ? i >> 3 : (i * 9) >> 4));
export function run() {
  return unique(words).length;
}
export function checksum() {
  return unique(words).join(' ') + unique([0, -0, NaN, NaN, '0', null, undefined, null]).map(String).join();
}
`;

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unique } from '../index.js';

test('keeps the first of equal values, in order', () => {
  assert.deepEqual(unique([3, 1, 3, 2, 1]), [3, 1, 2]);
});

test('an empty list stays empty', () => {
  assert.deepEqual(unique([]), []);
});
`;

const SETTINGS = `test: node --test test/unique.test.mjs
benchmark:
  module: bench/unique.bench.mjs
  entry: index.js
`;

export interface SmallSubject {
  readonly files: Map<string, Buffer>;
  /** The change that makes it fast. */
  readonly fixFiles: Map<string, Buffer>;
  readonly benchmark: string;
  /** The same kind of work on other inputs. */
  readonly heldBack: string;
}

export interface SmallSubjectOptions {
  /** Lines added to `.github/hasten.yml`. */
  readonly settings?: string;
  /** False: no settings file and no benchmark; the package's own test script is detected. */
  readonly configured?: boolean;
}

export function smallSubject(options: SmallSubjectOptions = {}): SmallSubject {
  const manifest = {
    name: 'unique-values',
    version: '1.0.0',
    type: 'module',
    private: true,
    exports: './index.js',
    scripts: { test: 'node --test test/unique.test.mjs' },
  };
  const lock = {
    name: manifest.name,
    version: manifest.version,
    lockfileVersion: 3,
    requires: true,
    packages: { '': { name: manifest.name, version: manifest.version } },
  };
  const files = new Map<string, string>([
    ['package.json', `${JSON.stringify(manifest, null, 2)}\n`],
    ['package-lock.json', `${JSON.stringify(lock, null, 2)}\n`],
    ['index.js', SLOW],
    ['test/unique.test.mjs', TEST],
  ]);
  if (options.configured ?? true) {
    files.set('bench/unique.bench.mjs', BENCHMARK);
    files.set('.github/hasten.yml', SETTINGS + (options.settings ?? ''));
  }
  return {
    files: buffers(files),
    fixFiles: buffers(new Map([['index.js', FAST]])),
    benchmark: BENCHMARK,
    heldBack: HELD_BACK,
  };
}

/** For the scripted model. */
export function caseOf(subject: SmallSubject) {
  const { files: baseFiles, fixFiles, heldBack } = subject;
  return { baseFiles, fixFiles, heldBack };
}

function buffers(texts: ReadonlyMap<string, string>): Map<string, Buffer> {
  return new Map([...texts].map(([path, text]) => [path, Buffer.from(text)]));
}
