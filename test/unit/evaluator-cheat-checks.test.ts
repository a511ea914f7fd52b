import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHEAT_RULES } from '../../src/evaluator/cheat-checks/cheat-finding.js';
import { findCheats, uncheckedPaths } from '../../src/evaluator/cheat-checks/find-cheats.js';
import { runCheatChecks } from '../../src/evaluator/cheat-checks/run-cheat-checks.js';

const FIXTURES = fileURLToPath(new URL('../../fixtures/cheats/', import.meta.url));
const BENCHMARK = 'bench/slug-titles.bench.mjs';
const context = {
  benchmarks: [{ path: BENCHMARK, source: readFileSync(`${FIXTURES}slug-titles.bench.mjs`, 'utf8') }],
};

interface Planted {
  readonly name: string;
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

function planted(kind: 'refused' | 'fair'): readonly Planted[] {
  return readdirSync(`${FIXTURES}${kind}`).map((name) => {
    const file = readdirSync(`${FIXTURES}${kind}/${name}`).find((each) => each.startsWith('after.'));
    const extension = file?.replace('after', '') ?? '';
    const read = (side: string) => readFileSync(`${FIXTURES}${kind}/${name}/${side}${extension}`, 'utf8');
    return { name, path: `src/slug${extension}`, before: read('before'), after: read('after') };
  });
}

/** Every "line rule" that the comments of a fixture announce. */
function announced(source: string): readonly string[] {
  return source.split('\n').flatMap((line, index) => {
    const rules = /\/\/ refused: (.+)$/.exec(line)?.[1]?.split(', ') ?? [];
    return rules.map((rule) => `${index + 1} ${rule}`);
  });
}

function found(path: string, before: string | null, after: string): readonly string[] {
  return [
    ...new Set(findCheats([{ path, before, after }], context).map(({ line, rule }) => `${line} ${rule}`)),
  ];
}

const refused = planted('refused');
const fair = planted('fair');

describe('a planted cheat', () => {
  it.each(refused)('is refused with its line: $name', ({ path, before, after }) => {
    expect(announced(after)).not.toEqual([]);
    expect([...found(path, before, after)].sort()).toEqual([...announced(after)].sort());
  });

  it.each(refused)('is found in a new file as well: $name', ({ path, after }) => {
    expect(found(path, null, after)).toEqual(expect.arrayContaining([...announced(after)]));
  });

  it('exists for every rule', () => {
    const rules = new Set(refused.flatMap(({ after }) => announced(after).map((each) => each.split(' ')[1])));
    expect([...rules].sort()).toEqual([...CHEAT_RULES].sort());
  });

  it.each(refused)('that the base had already is not the fault of the patch: $name', ({ path, after }) => {
    const parsable = !announced(after).some((each) => each.endsWith('unparsable'));
    if (parsable) expect(found(path, after, `${after}\nfunction added() {}\n`)).toEqual([]);
  });

  const alone = refused.filter(({ name }) => name !== 'not-parsable');
  const surroundings = fair.filter(({ path }) => path.endsWith('.js'));

  it('is found within any other code, on its line', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...alone.filter(({ path }) => path.endsWith('.js'))),
        fc.array(fc.constantFrom(...surroundings), { maxLength: 3 }),
        fc.nat({ max: 3 }),
        (cheat, around, at) => {
          // Blocks keep the names of the surroundings apart; a module's own statements are left out of them.
          const blocks = around.map(({ after }) => `{\n${after.replace(/^(?:export|import) .*$/gm, '')}\n}`);
          const before = blocks.slice(0, at).filter((block) => isScript(block));
          const after = blocks.slice(at).filter((block) => isScript(block));
          const source = [...before, cheat.after, ...after].join('\n');
          const offset = before.join('\n').split('\n').length - (before.length === 0 ? 1 : 0);
          const moved = announced(cheat.after).map((each) => {
            const [line, rule] = each.split(' ');
            return `${Number(line) + offset} ${rule}`;
          });
          expect(found(cheat.path, cheat.before, source)).toEqual(expect.arrayContaining(moved));
        },
      ),
      { numRuns: 150 },
    );
  }, 60_000);
});

function isScript(block: string): boolean {
  return findCheats([{ path: 'a.js', before: null, after: block }], context).every(
    ({ rule }) => rule !== 'unparsable',
  );
}

describe('a fair change', () => {
  it.each(fair)('passes: $name', ({ path, before, after }) => {
    expect(findCheats([{ path, before, after }], context)).toEqual([]);
  });

  it('passes when code with a past moves to another file', () => {
    const source = 'export const isDebug = () => process.env.DEBUG === "1";\n';
    const changes = [
      { path: 'src/old.js', before: source, after: null },
      { path: 'src/new.js', before: null, after: source },
    ];
    expect(findCheats(changes, context)).toEqual([]);
    expect(findCheats(changes.slice(1), context)).toMatchObject([
      { path: 'src/new.js', rule: 'environment' },
    ]);
  });

  it('may not add one more of what the base has', () => {
    const before = 'export const a = () => process.env.A;\n';
    const after = `${before}export const b = () => process.env.A;\n`;
    expect(found('src/a.js', before, after)).toHaveLength(1);
  });
});

describe('any text', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc
      .array(
        fc.constantFrom(
          ...[
            'process',
            '.env',
            'const a = ',
            'a',
            '=> ',
            '(',
            ')',
            '{',
            '}',
            '[',
            ']',
            ';',
            '`',
            '${',
            "'x'",
          ],
          ...[
            'import ',
            'export ',
            'default ',
            'class A ',
            'this',
            '=',
            '??=',
            '...',
            'function ',
            'new ',
            '<T>',
          ],
          ...[
            '\n',
            ', ',
            ': ',
            '?',
            '.',
            '#p',
            'static ',
            'await ',
            'cache',
            '.set(1, 2)',
            'Map',
            'get ',
            '/x/',
          ],
        ),
        { maxLength: 40 },
      )
      .map((parts) => parts.join('')),
  );

  it('is answered and never throws, in every dialect', () => {
    fc.assert(
      fc.property(
        text,
        fc.option(text, { nil: null }),
        fc.constantFrom('a.js', 'a.mjs', 'a.cjs', 'a.ts', 'a.tsx', 'a.jsx'),
        (after, before, path) => {
          for (const finding of findCheats([{ path, before, after }], context)) {
            expect(finding.line).toBeGreaterThan(0);
            expect(finding.line).toBeLessThanOrEqual(after.split(/\r\n|[\n\r\u2028\u2029]/).length);
          }
        },
      ),
      { numRuns: 500 },
    );
  }, 60_000);

  it('that nests deeper than a parser goes is refused as unreadable', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    expect(found('src/a.js', 'export {};\n', deep)).toEqual(['1 unparsable']);
  });

  it('in other languages is named as unchecked, prose is not', () => {
    const paths = ['src/a.ts', 'src/a.py', 'README.md', 'data/table.json', 'LICENSE', 'bin/run'];
    expect(uncheckedPaths(paths)).toEqual(['src/a.py', 'data/table.json', 'bin/run']);
    expect(findCheats([{ path: 'src/a.py', before: null, after: 'import os' }], context)).toEqual([]);
  });
});

describe('the checks in their own process', () => {
  const change = { path: 'src/a.ts', before: 'let a = 1;\n', after: 'let a = process.env.A;\n' };
  const { signal } = new AbortController();

  it('give the same findings', async () => {
    const result = await runCheatChecks([change], context, { timeoutMs: 30_000, heapMb: 512 }, signal);
    expect(result).toEqual({ kind: 'checked', findings: findCheats([change], context) });
  });

  it('give up at their deadline', async () => {
    const result = await runCheatChecks([change], context, { timeoutMs: 1, heapMb: 512 }, signal);
    expect(result).toEqual({ kind: 'gave-up', reason: 'no answer in 0.001 s' });
  });

  it('give up where they need too much memory', async () => {
    const after = `export const a = [${'{ a: [1, b => c] },'.repeat(40_000)}];\n`;
    const limits = { timeoutMs: 30_000, heapMb: 48 };
    const result = await runCheatChecks([{ ...change, after }], context, limits, signal);
    expect(result).toMatchObject({ kind: 'gave-up', reason: expect.stringContaining('memory') });
  });

  it('end when the run is stopped', async () => {
    const controller = new AbortController();
    const running = runCheatChecks([change], context, { timeoutMs: 30_000, heapMb: 512 }, controller.signal);
    controller.abort(new Error('stopped'));
    await expect(running).rejects.toThrow('stopped');
  });
});
