import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTestCounts } from '../../src/evaluator/tests/test-summary.js';

describe('test counts', () => {
  it.each([
    [
      'node:test, tap reporter',
      'ok 1 - a\n1..3\n# tests 3\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n',
      2,
      1,
      0,
    ],
    [
      'node:test, spec reporter',
      '\u001b[34mℹ tests 5\u001b[39m\nℹ suites 1\nℹ pass 3\nℹ fail 0\nℹ cancelled 1\nℹ skipped 1\nℹ todo 0\n',
      3,
      1,
      1,
    ],
    ['tape', '1..4\n# tests 4\n# pass  4\n\n# ok\n', 4, 0, 0],
    [
      'vitest',
      ' Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 39 passed | 2 skipped (42)\n   Start at  20:07:38\n',
      39,
      1,
      2,
    ],
    [
      'vitest, all green',
      '\u001b[2m      Tests \u001b[22m \u001b[1m\u001b[32m39 passed\u001b[39m\u001b[22m\u001b[90m (39)\u001b[39m\n',
      39,
      0,
      0,
    ],
    [
      'jest',
      'Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 skipped, 5 passed, 8 total\nSnapshots:   0 total\n',
      5,
      1,
      2,
    ],
    ['mocha', '\n\n  12 passing (34ms)\n  1 pending\n  2 failing\n\n', 12, 2, 1],
    ['ava', '  ─\n\n  1 test failed\n  7 tests passed\n  1 test skipped\n', 7, 1, 1],
    ['pytest', '===== 1 failed, 9 passed, 2 skipped in 0.12s =====\n', 9, 1, 2],
    [
      'two packages of one repository',
      '# tests 2\n# pass 2\n# fail 0\n\n# tests 3\n# pass 3\n# fail 0\n',
      5,
      0,
      0,
    ],
  ])('are read from %s', (_, output, passed, failed, skipped) => {
    expect(readTestCounts(output)).toMatchObject({ passed, failed, skipped });
  });

  it('are unknown where no known runner speaks', () => {
    expect(readTestCounts('')).toBeNull();
    expect(readTestCounts('all good\nDone in 3s\n')).toBeNull();
    expect(readTestCounts('the word passing and # pass something')).toBeNull();
  });

  it('never throw and end quickly, whatever the output', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
        readTestCounts(text);
      }),
    );
    const started = performance.now();
    readTestCounts('Tests  1 a'.repeat(6000));
    readTestCounts(`Tests ${'1 passed | '.repeat(6000)}`);
    readTestCounts(`Tests: ${'1 passed, '.repeat(6000)}`);
    readTestCounts(`=${'='.repeat(60_000)}`);
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
