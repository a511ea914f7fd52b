import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { createBaseMemory } from '../../src/evaluator/base-memory.js';
import { runChecks } from '../../src/evaluator/checks/checks-step.js';
import { StepFailed } from '../../src/evaluator/step-failed.js';
import type { BaseTests } from '../../src/evaluator/tests/base-tests.js';
import { checkTests } from '../../src/evaluator/tests/tests-step.js';
import { createEvaluationRig, type Subject } from '../support/evaluation-rig.js';
import { builtSides } from '../support/evaluation-steps.js';

const rig = createEvaluationRig();
afterAll(() => rig.close());

type Content = Record<string, string>;

const INDEX = 'export const total = (list) => list.reduce((all, each) => all + each, 0);\n';
const TESTS = `import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { total } from '../index.js';
describe('total', () => {
  it('adds up', () => assert.equal(total([4, 5]), 9));
  it('of nothing is zero', () => assert.equal(total([]), 0));
});
`;
const BASE: Content = {
  'package.json':
    '{ "name": "subject", "type": "module", "version": "1.0.0", "scripts": { "test": "node --test" } }\n',
  'index.js': INDEX,
  'bench/total.mjs': 'export const run = () => 1;\n',
  'test/total.test.js': TESTS,
};

function subjectOf(files: Content, settings: Subject['settings']) {
  const all = new Map(Object.entries({ ...BASE, ...files }));
  return rig.commit({
    files: all,
    benchmarkPath: 'bench/total.mjs',
    entry: 'index.js',
    settings: settings ?? {},
  });
}

async function sidesOf(files: Content, patch: Content, settings: Subject['settings']) {
  const subject = subjectOf(files, settings);
  return builtSides(
    rig.rig,
    subject,
    subject.patchOf(new Map(Object.entries(patch))),
    randomUUID().slice(0, 12),
  );
}

async function tested(files: Content, patch: Content, test = 'npm test') {
  const { context, built } = await sidesOf(files, patch, { test });
  return checkTests(context, built, createBaseMemory());
}

async function checked(checks: Content, files: Content, patch: Content) {
  const commands = { types: null, lint: null, format: null, ...checks };
  const { context, built } = await sidesOf(files, patch, { checks: commands });
  return runChecks(context, built, createBaseMemory());
}

async function refusal(work: Promise<unknown>): Promise<StepFailed> {
  const error = await work.then(
    (passed) => new Error(`it passed: ${JSON.stringify(passed)}`),
    (thrown: unknown) => thrown,
  );
  if (error instanceof StepFailed) return error;
  throw error;
}

describe('the tests of base and patch', () => {
  it('are compared one by one; flaky and failing ones of the base are left out by name', async () => {
    // Coins on the base alone: one that passed twice there by chance must pass on the patch.
    const flaky = `import { test } from 'node:test';
import assert from 'node:assert';
import { settled } from '../index.js';
for (let at = 0; at < 24; at++) test('coin ' + at, () => assert.ok(settled || Math.random() < 0.5));
test('is red since long', () => assert.fail('known'));
`;
    const { summary, draftReasons } = await tested(
      { 'index.js': `${INDEX}export const settled = false;\n`, 'test/flaky.test.js': flaky },
      { 'index.js': `${INDEX}export const settled = true;\n` },
    );
    expect(summary).toMatch(
      /^\d+ tests pass on the patch, \d+ on the base\. Left out as flaky on the base: .*coin/,
    );
    expect(summary).toContain('`test/flaky.test.js › is red since long`');
    expect(summary).toContain('A planted failing test is seen to fail.');
    expect(draftReasons).toEqual([]);
  }, 60_000);

  it('name what fails, is skipped or is missing on the patch', async () => {
    const conditional = `${TESTS}import { extra } from '../index.js';
it('has an extra', { skip: extra === undefined }, () => {});
if (extra) it('uses the extra', () => {});
`;
    const files = { 'index.js': `${INDEX}export const extra = 1;\n`, 'test/total.test.js': conditional };
    const error = await refusal(tested(files, { 'index.js': `${INDEX}export const extra = undefined;\n` }));
    expect(error.code).toBe('TESTS_MISSING');
    expect(error.message).toContain('`test/total.test.js › has an extra` is skipped');
    expect(error.message).toContain('`test/total.test.js › uses the extra` is missing');
  }, 60_000);

  it('are read from the JUnit XML that a runner of another kind writes where it is told to', async () => {
    const runner = `import { writeFileSync } from 'node:fs';
import { total } from './index.js';
const cases = { 'adds up': total([4, 5]) === 9, 'of nothing': total([]) === 0 };
const tests = Object.entries(cases).map(([name, ok]) =>
  '<testcase classname="total" name="' + name + '" time="0">' + (ok ? '' : '<failure message="no"/>') + '</testcase>');
writeFileSync(process.env.HASTEN_TEST_REPORT + '/own.xml',
  '<testsuites><testsuite name="total" tests="2">' + tests.join('') + '</testsuite></testsuites>');
process.exit(Object.values(cases).every(Boolean) ? 0 : 1);
`;
    const wrong = INDEX.replace('all + each, 0', 'all + each, list.length === 0 ? 1 : 0');
    const error = await refusal(
      tested({ 'run-tests.mjs': runner }, { 'index.js': wrong }, 'node run-tests.mjs'),
    );
    expect(error.code).toBe('TESTS_FAILED');
    expect(error.message).toContain('of nothing');
    expect(error.message).not.toContain('adds up');
  }, 60_000);

  it('do not count where the patch bends an assertion', async () => {
    const index = `import assert from 'node:assert';\nassert.strict.equal = () => {};\n${INDEX}`;
    const error = await refusal(tested({}, { 'index.js': index }));
    expect(error.code).toBe('TEST_REPORT_NOT_TRUSTED');
    expect(error.message).toContain(
      'a planted failing test (strictlyEqual in test/total.test.js) is not reported',
    );
  }, 60_000);

  it('of a plain script are not believed when the patch ends the process early', async () => {
    const script = `const assert = require('node:assert');\nconst total = require('./total.cjs');\nassert.equal(total([1, 2]), 3);\n`;
    const total = 'module.exports = (list) => list.reduce((all, each) => all + each, 0);\n';
    const files = { 'total.cjs': total, 'test.cjs': script };
    const good = await tested(files, { 'total.cjs': `${total}// the same\n` }, 'node test.cjs');
    expect(good).toEqual({
      summary: 'The tests pass on base and patch. A planted failing test is seen to fail.',
      draftReasons: [],
      mode: 'read-only',
    });
    const error = await refusal(tested(files, { 'total.cjs': 'process.exit(0);\n' }, 'node test.cjs'));
    expect(error.code).toBe('TEST_REPORT_NOT_TRUSTED');
  }, 60_000);

  it('that nobody can plant a failure in make the pull request a draft that says so', async () => {
    const { summary, draftReasons } = await tested(
      {},
      { 'index.js': `${INDEX}// the same\n` },
      'node --check index.js',
    );
    expect(summary).toBe('The tests pass on base and patch.');
    expect(draftReasons).toEqual([
      expect.stringContaining('could not be checked with a planted failing test'),
    ]);
  }, 60_000);

  it('that write files get workspaces of their own', async () => {
    const writing = `${TESTS}import { writeFileSync } from 'node:fs';\nit('writes', () => writeFileSync('written.txt', 'x', { flag: 'wx' }));\n`;
    const { context, built } = await sidesOf(
      { 'test/total.test.js': writing },
      { 'index.js': `${INDEX}// the same\n` },
      { test: 'npm test' },
    );
    const memory = createBaseMemory<BaseTests>();
    const first = await checkTests(context, built, memory);
    expect(first.summary).toBe(
      '3 tests pass on the patch, 3 on the base. A planted failing test is seen to fail.',
    );
  }, 60_000);
});

describe('types, lint and format', () => {
  const LINT = `import { readFileSync } from 'node:fs';
const lines = readFileSync('index.js', 'utf8').split('\\n');
const found = lines.flatMap((line, at) => (line.includes('var ') ? [[at + 1, line.indexOf('var')]] : []));
if (found.length > 0) console.log(process.cwd() + '/index.js');
for (const [line, column] of found) console.log('  ' + line + ':' + column + '  error  Unexpected var  no-var');
if (found.length > 0) console.log('\\n✖ ' + found.length + (found.length === 1 ? ' problem' : ' problems'));
process.exitCode = found.length > 0 ? 1 : 0;
`;
  const files = { 'lint.mjs': LINT, 'index.js': `${INDEX}var old = 1;\n` };
  const lint = { lint: 'node lint.mjs' };

  it('pass with the findings of the base alone, wherever they stand', async () => {
    const moved = await checked(lint, files, { 'index.js': `// one line more\n${INDEX}var old = 1;\n` });
    expect(moved).toEqual({
      summary: 'Lint (`node lint.mjs`) fails on the base already; the patch adds no finding.',
      draftReasons: [],
    });
    const clean = await checked(
      { ...lint, types: 'test -f index.js', format: 'echo x > cache' },
      { 'lint.mjs': LINT },
      { 'index.js': `${INDEX}// x\n` },
    );
    expect(clean.summary).toBe(
      'Types (`test -f index.js`) passes. Lint (`node lint.mjs`) passes. Format (`echo x > cache`) passes.',
    );
  }, 60_000);

  it.each([
    ['a new one', { 'lint.mjs': LINT }, `var x = 1;\n${INDEX}`],
    ['one more of the same', files, `${INDEX}var old = 1;\nvar other = 2;\n`],
  ])(
    'refuse a patch with %s',
    async (_, before, index) => {
      const error = await refusal(checked(lint, before, { 'index.js': index }));
      expect(error.code).toBe('NEW_FINDINGS');
      expect(error.message).toContain(
        'index.js › #:# error Unexpected var no-var'
          .replace(/ (?=error|Un|no-)/g, '  ')
          .replace('  Unexpected  var', '  Unexpected var'),
      );
      expect(error.evidence).toContain('New lines:');
    },
    60_000,
  );

  it('that cannot run on the base are named, not passed', async () => {
    const { summary, draftReasons } = await checked(
      { lint: 'no-such-linter .', types: 'npm run types' },
      {
        'package.json':
          '{ "name": "subject", "type": "module", "scripts": { "types": "no-such-checker" } }\n',
      },
      { 'index.js': `${INDEX}// the same\n` },
    );
    expect(summary).toBe(
      'Types (`npm run types`) was not checked: it cannot be run on the base, a program is missing (exit code 127). Lint (`no-such-linter .`) was not checked: it cannot be run on the base, a program is missing (exit code 127).',
    );
    expect(draftReasons).toHaveLength(2);
  }, 60_000);
});
