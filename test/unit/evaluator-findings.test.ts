import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findingLines, newFindings } from '../../src/evaluator/checks/findings.js';

function added(base: string, patch: string) {
  return newFindings(findingLines(base), findingLines(patch));
}

const ESLINT = `
/ws/src/list.js
  12:5  error  Unexpected var, use let or const instead  no-var
  40:1  error  Unexpected var, use let or const instead  no-var

✖ 2 problems (2 errors, 0 warnings)
`;
const TSC = `src/list.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.
src/other.ts(3,1): error TS2304: Cannot find name 'x'.
`;
const PRETTIER = `Checking formatting...
[warn] src/a.js
[warn] src/b.js
[warn] Code style issues found in 2 files. Run Prettier with --write to fix.
`;
const BIOME = `src/a.js:3:1 lint/style/noVar ━━━━━━━━━━

  ! Use let or const instead of var.

    1 │ const one = 1;
    2 │
  > 3 │ var two = 2;
      │ ^^^^^^^^^^^^

Checked 12 files in 34ms. No fixes applied.
Found 1 error.
`;

describe('findings of a check', () => {
  it.each([
    ['eslint on moved lines', ESLINT, ESLINT.replace('12:5', '13:5').replace('40:1', '99:11')],
    [
      'eslint with one finding less',
      ESLINT,
      ESLINT.replace(/ {2}40.*\n/, '').replace('2 problems (2 errors', '1 problem (1 error'),
    ],
    ['tsc on moved lines', TSC, TSC.replace('12,5', '120,15')],
    [
      'prettier with one file less',
      PRETTIER,
      PRETTIER.replace('[warn] src/b.js\n', '').replace('found in 2 files', 'found in the above file'),
    ],
    [
      'biome with other code around',
      BIOME,
      BIOME.replace('const one = 1;', 'const first = 1;').replace('3:1', '4:1').replace('34ms', '1.2s'),
    ],
    ['colours', ESLINT, ESLINT.replace('error', '\u001b[31merror\u001b[39m')],
    ['times', 'Done in 900ms\n', 'Done in 1.34s\n'],
    [
      'logs named by time',
      'log: /tmp/_logs/2026-01-02T03_04_05_678Z-debug-0.log',
      'log: /tmp/_logs/2027-11-12T13_14_15_999Z-debug-0.log',
    ],
  ])('are none for %s', (_, base, patch) => {
    expect(added(base, patch)).toEqual([]);
  });

  it.each([
    [
      'eslint once more',
      ESLINT,
      ESLINT.replace('\n✖', '  50:1  error  Unexpected var, use let or const instead  no-var\n\n✖'),
      'src/list.js › #:#  error  Unexpected var, use let or const instead  no-var',
    ],
    ['eslint in another file', ESLINT, ESLINT.replace('/ws/src/list.js', '/ws/src/new.js'), 'src/new.js'],
    [
      'another code of tsc',
      TSC,
      TSC.replace('TS2304', 'TS2305'),
      "src/other.ts(#,#): error TS2305: Cannot find name 'x'.",
    ],
    [
      'another file of prettier',
      PRETTIER,
      PRETTIER.replace('[warn] src/b.js', '[warn] src/b.js\n[warn] src/c.js'),
      '[warn] src/c.js',
    ],
    [
      'another rule of biome',
      BIOME,
      BIOME.replace('noVar', 'noLet'),
      'src/a.js:#:# lint/style/noLet ━━━━━━━━━━',
    ],
  ])('are new for %s', (_, base, patch, expected) => {
    expect(added(base, patch)).toContain(expected);
  });

  it('are never new against themselves, and always new against nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        const lines = findingLines(texts.join('\n'));
        expect(newFindings(lines, lines)).toEqual([]);
        expect(newFindings([], lines)).toEqual(lines);
        expect(newFindings(lines, [...lines, 'more'])).toHaveLength(1);
      }),
    );
  });
});
