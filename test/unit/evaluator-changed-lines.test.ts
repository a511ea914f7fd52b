import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changedCode } from '../../src/evaluator/changed-lines/changed-code.js';
import { changedFiles } from '../../src/evaluator/changed-lines/diff-lines.js';
import { executionOf } from '../../src/evaluator/changed-lines/execution.js';
import { recordedInputs } from '../../src/evaluator/changed-lines/recorded-calls.js';

type Edit = { readonly kind: 'keep' | 'add' | 'delete'; readonly text: string };

/** One hunk that shows every line, as `git diff -U999` writes it. */
function diffOf(edits: readonly Edit[]): string {
  const count = (kind: Edit['kind']) =>
    edits.filter((each) => each.kind === 'keep' || each.kind === kind).length;
  const sign = { keep: ' ', add: '+', delete: '-' };
  const body = edits.map(({ kind, text }) => `${sign[kind]}${text}`).join('\n');
  const start = (lines: number) => (lines === 0 ? 0 : 1);
  const [old, patched] = [count('delete'), count('add')];
  const head = `@@ -${start(old)},${old} +${start(patched)},${patched} @@`;
  return `diff --git a/a.js b/a.js\n--- a/a.js\n+++ b/a.js\n${head}\n${body}\n`;
}

const edits = fc.array(
  fc.record({
    kind: fc.constantFrom<Edit['kind']>('keep', 'add', 'delete'),
    text: fc.constantFrom('x', '++ b/evil.js', '-- a/evil.js', '@@ -1 +1 @@', '', ' y'),
  }),
  { minLength: 1, maxLength: 30 },
);

describe('the lines of a diff', () => {
  it('are those that were added, by their numbers on the patched side, whatever the lines say', () => {
    fc.assert(
      fc.property(edits, (list) => {
        const patched = list.filter(({ kind }) => kind !== 'delete');
        const added = patched.flatMap(({ kind }, at) => (kind === 'add' ? [at + 1] : []));
        const files = changedFiles(diffOf(list));
        expect(files.map(({ path }) => path)).toEqual(['a.js']);
        expect(files[0]?.runs.flatMap(({ lines }) => lines)).toEqual(added);
        const deleted = list.filter(({ kind }) => kind === 'delete').map(({ text }) => text);
        expect(files[0]?.runs.flatMap((run) => run.deleted)).toEqual(deleted);
      }),
    );
  });

  it('know quoted names and leave out deleted files', () => {
    const diff =
      '--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n--- "a/\\303\\244.js"\n+++ "b/\\303\\244.js"\n@@ -1 +1 @@\n-a\n+b\n';
    expect(changedFiles(diff)).toEqual([{ path: 'ä.js', runs: [{ lines: [1], after: 0, deleted: ['a'] }] }]);
  });
});

function linesOf(source: string, lines: readonly number[], deleted: readonly string[] = [], after = 0) {
  const code = changedCode('a.ts', source, [{ lines, after, deleted }]);
  return code.kind === 'lines' ? code.lines.map(({ line }) => line) : code.reason;
}

describe('the code of changed lines', () => {
  const source =
    "import a from 'a';\n// says\ntype T = string;\nexport function f(x: T) {\n  return a(x);\n}\n\n";

  it('leaves out imports, comments, types, brackets and blank lines', () => {
    expect(linesOf(source, [1, 2, 3, 4, 5, 6, 7])).toEqual([4, 5]);
  });

  it('is the function around where lines were only deleted, unless they were comments', () => {
    expect(linesOf(source, [], ['  x += 1;'], 4)).toEqual([5]);
    expect(linesOf(source, [], ['  // x'], 4)).toEqual([]);
  });

  it('is the statement around where only a text inside changed', () => {
    expect(linesOf('const a = 1;\nconst t = `one\ntwo\nthree`;\n', [3])).toEqual([3]);
  });

  it('is not known in another language', () => {
    expect(changedCode('a.py', 'x', [])).toMatchObject({ kind: 'not-known' });
    expect(changedCode('README.md', 'x', [])).toEqual({ kind: 'lines', lines: [] });
  });

  it('asks for the call of a function, not only for its making', () => {
    const text = 'export const f = (x) => x + 1;';
    const code = changedCode('a.js', text, [{ lines: [1], after: 0, deleted: [] }]);
    const [line] = code.kind === 'lines' ? code.lines : [];
    if (line === undefined) throw new Error('no line');
    const script = { file: 'a.js', lineLengths: [text.length], map: null };
    const executed = (parts: number[]) =>
      executionOf({ scripts: [{ ...script, parts }], untraced: [] }).executed('a.js', line);
    expect(executed([0, 17, 29, 30])).toBe(false);
    expect(executed([0, 30])).toBe(true);
    expect(executionOf({ scripts: [], untraced: ['a.js'] }).executed('a.js', line)).toBeNull();
  });
});

describe('recorded calls', () => {
  it('are calls whose arguments stand alone, constants of the file written in', () => {
    const { recorded } = recordedInputs(
      new Map([
        [
          't.mjs',
          "import d from './d.js';\nconst n = 3;\nd('a', n, (x) => x + n);\nd(other);\nd.e([1], { k: /x/ });",
        ],
      ]),
    );
    expect(recorded.d).toEqual([
      ["'a'", '(() => { const n = 3; return (n); })()', '(() => { const n = 3; return ((x) => x + n); })()'],
    ]);
    expect(recorded.e).toEqual([['[1]', '{ k: /x/ }']]);
    expect(recorded.default).toEqual(recorded.d);
  });
});
