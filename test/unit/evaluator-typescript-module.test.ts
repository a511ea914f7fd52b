import { describe, expect, it } from 'vitest';
import { executedPath, executedSource } from '../../src/evaluator/typescript-module.js';

describe('a benchmark in TypeScript', () => {
  it('runs as a module beside its source, others run as they are', async () => {
    expect(['a.ts', 'bench/b.mts', 'c.mjs', 'd.js', 'types.d.ts'].map(executedPath)).toEqual([
      'a.hasten.mjs',
      'bench/b.hasten.mjs',
      'c.mjs',
      'd.js',
      'types.d.ts',
    ]);
    expect(await executedSource('c.mjs', 'enum is no keyword here')).toBe('enum is no keyword here');
  });

  it('loses its types and keeps lines and columns', async () => {
    const source = [
      "import type { Row } from './row.js';",
      'const rows: readonly Row[] = [];',
      'export function run(this: void): number { return rows.length as number; }',
      'throw new Error(new Error().stack satisfies string | undefined);',
    ].join('\n');
    const stripped = await executedSource('bench/a.ts', source);
    expect(stripped).not.toMatch(/Row|number|string/);
    expect(stripped.split('\n').map((line) => line.indexOf('return'))).toEqual(
      source.split('\n').map((line) => line.indexOf('return')),
    );
  });

  it.each([
    ['an enum', 'export const run = () => A.B;\nenum A { B }', /line 2: .*enum/],
    ['broken syntax', 'export const = 1;', /line 1: /],
    ['far too much text', 'x'.repeat(1_000_001), /too long/],
  ])('is refused with the place for %s', async (_, source, message) => {
    await expect(executedSource('bench/a.ts', source)).rejects.toMatchObject({
      code: 'BENCHMARK_NOT_STRIPPED',
      message: expect.stringMatching(message),
    });
  });
});
