import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { checkChangedLines } from '../../src/evaluator/changed-lines/changed-lines-step.js';
import { DEFAULT_EVALUATE_OPTIONS } from '../../src/evaluator/evaluate-station.js';
import { prepareWorkspace } from '../../src/evaluator/evaluation-context.js';
import { createEvaluationRig, type Subject } from '../support/evaluation-rig.js';

const rig = createEvaluationRig();
afterAll(() => rig.close());

const INDEX = `import { helper } from './helper.js';
export function twice(x) {
  return x + x;
}
export function clamp(x, low, high) {
  if (x < low) return low;
  return x > high ? high : x;
}
export function label(text) {
  return helper(text);
}
`;
const HELPER = `export function helper(text) {
  return '<' + String(text) + '>';
}
function hidden(x) {
  return x * 3;
}
export const made = [1, 2].length > 5 ? hidden(1) : 0;
`;
const BENCH = `const { twice } = await import(process.argv[2]);
export function run() { return twice(21); }
`;
const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { twice } from '../index.js';
test('twice', () => assert.equal(twice(2), 4));
`;

const base: Subject = {
  files: new Map([
    ['package.json', '{ "name": "subject", "type": "module", "version": "1.0.0" }\n'],
    ['index.js', INDEX],
    ['helper.js', HELPER],
    ['bench/twice.mjs', BENCH],
    ['test/twice.test.js', TEST],
  ]),
  benchmarkPath: 'bench/twice.mjs',
  entry: 'index.js',
  settings: { test: 'node --test' },
};

/** The step alone: workspaces of base and patch, nothing measured. */
async function checked(patchFiles: Record<string, string>, changes: Partial<Subject> = {}) {
  const subject = rig.commit({ ...base, ...changes });
  const patch = subject.patchOf(new Map(Object.entries(patchFiles)));
  const { repository, baseCommit, settings, benchmark } = subject;
  const { sandbox, mirror } = rig.rig;
  const signal = new AbortController().signal;
  const context = {
    run: randomUUID().slice(0, 12),
    repository: repository.ref,
    baseCommit,
    settings,
    benchmark,
    patch,
    sandbox,
    mirror,
    options: DEFAULT_EVALUATE_OPTIONS,
    station: { signal, now: Date.now, progress: () => {} },
  };
  await mirror.fetch(repository.ref, baseCommit, signal);
  await mirror.applyPatch(repository.ref, baseCommit, patch.diff);
  const built = {
    base: await prepareWorkspace(context, 'base', null, signal),
    patch: await prepareWorkspace(context, 'patch', patch.tree, signal),
  };
  return checkChangedLines(context, built, null);
}

describe('the changed lines of a patch', () => {
  it('are executed by the tests', async () => {
    const answer = await checked({
      'index.js': INDEX.replace('return x + x;', 'const y = x;\n  return y + x;'),
    });
    expect(answer).toEqual({
      summary: 'The tests execute all 2 changed lines that execute.',
      draftReasons: [],
    });
  }, 60_000);

  it('are compared on generated inputs where the tests do not execute them', async () => {
    const clamp = INDEX.replace('return x + x;', 'return (x + x);').replace(
      'if (x < low) return low;',
      'if (low > x) {\n    return low;\n  }',
    );
    const answer = await checked({ 'index.js': clamp });
    expect(answer.draftReasons).toEqual([]);
    expect(answer.summary).toMatch(
      /^The tests execute 1 of \d changed lines\. Base and patch answer \d+ generated/,
    );
  }, 60_000);

  it('refuse the patch where base and patch answer one generated input differently', async () => {
    const wrong = INDEX.replace('return x + x;', 'return (x + x);').replace(
      'x > high',
      'x >= low && x < high',
    );
    await expect(checked({ 'index.js': wrong })).rejects.toMatchObject({
      code: 'OUTPUT_DIFFERS',
      message: expect.stringContaining('clamp of index.js'),
      evidence: expect.stringMatching(/Input: clamp\(.*\nBase: {2}.*\nPatch: /),
    });
  }, 60_000);

  it('make the pull request a draft where nothing executes them', async () => {
    const answer = await checked({
      'index.js': INDEX.replace('return x + x;', 'return (x + x);'),
      'helper.js': HELPER.replace('return x * 3;', 'return 3 * x;'),
    });
    expect(answer.draftReasons).toEqual([
      'One changed line is seen to be executed neither by the tests nor by the comparison on generated inputs: helper.js:5.',
    ]);
  }, 60_000);

  it('refuse a patch whose lines the benchmark does not execute', async () => {
    await expect(
      checked({ 'helper.js': HELPER.replace('String(text)', 'text.toString()') }),
    ).rejects.toMatchObject({
      code: 'BENCHMARK_DOES_NOT_EXECUTE',
      message: 'The benchmark does not execute any of the lines that the patch changes (helper.js:2).',
    });
  }, 60_000);

  it('count as executed by the benchmark where they execute when the module is loaded', async () => {
    const answer = await checked({ 'helper.js': HELPER.replace('.length > 5', '.length > 6') });
    expect(answer.draftReasons).toEqual([]);
  }, 60_000);

  it('are not known in another language', async () => {
    const answer = await checked({ 'tool.py': 'print(1)\n' });
    expect(answer.draftReasons).toEqual([
      'Whether anything executes the changed lines of tool.py is not known: only JavaScript and TypeScript can be followed.',
    ]);
  }, 60_000);

  it('are found through source maps where the repository is built', async () => {
    const source = 'export function twice(x: number): number {\n  return x + x;\n}\n';
    // A build that moves every line down by one and says so in its map.
    const map = JSON.stringify({
      version: 3,
      names: [],
      sources: ['../src/index.ts'],
      mappings: ';AAAA;EACE;AACF',
    });
    const product =
      '// built\nexport function twice(x) {\n  return x + x;\n}\n//# sourceMappingURL=index.js.map\n';
    const answer = await checked(
      { 'src/index.ts': source.replace('return x + x;', 'return x + x; // faster') },
      {
        files: new Map([
          ...base.files,
          ['src/index.ts', source],
          ['dist/index.js', product],
          ['dist/index.js.map', map],
          ['test/twice.test.js', TEST.replace('../index.js', '../dist/index.js')],
        ]),
        entry: 'dist/index.js',
      },
    );
    expect(answer).toEqual({ summary: 'The tests execute the changed line.', draftReasons: [] });
  }, 60_000);
});
