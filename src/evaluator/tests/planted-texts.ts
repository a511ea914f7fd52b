/** Failing tests in the syntax of each runner, to be appended to a test file or, for Go, to stand beside it. */

import { ASSERT, CHAI, EXPECT, THROW } from './planted-checks.js';

/** What the planted text is written for. `script`: a plain program that only its exit code speaks for. */
export type PlantSyntax =
  | 'node:test'
  | 'vitest'
  | 'jest'
  | 'mocha'
  | 'tap'
  | 'tape'
  | 'ava'
  | 'script'
  | 'go'
  | 'python'
  | 'rust';

export interface PlantedFile {
  readonly path: string;
  readonly content: string;
}

/** The syntax for a file: by what it imports, else by the runner that reported it, else by its ending. */
export function syntaxOf(path: string, content: string, runner: string | null): PlantSyntax | null {
  if (/\.go$/.test(path)) return 'go';
  if (/\.py$/.test(path)) return 'python';
  if (/\.rs$/.test(path)) return 'rust';
  if (!/\.[cm]?[jt]sx?$/.test(path)) return null;
  if (/['"]node:test['"]/.test(content)) return 'node:test';
  if (/['"]vitest['"]/.test(content)) return 'vitest';
  if (/['"]@jest\/globals['"]/.test(content)) return 'jest';
  if (/['"]tape['"]/.test(content)) return 'tape';
  if (/['"]tap['"]/.test(content)) return 'tap';
  if (/['"]ava['"]/.test(content)) return 'ava';
  if (runner === 'vitest' || runner === 'jest' || runner === 'mocha' || runner === 'node:test') return runner;
  return 'script';
}

/**
 * The file with failing tests in it, whose names are `token_label`; `labels` limits them (null: all). `token` is an
 * identifier that is nowhere else. The file keeps its place, so that it runs in the same process, after the same imports.
 */
export function planted(
  file: PlantedFile,
  syntax: PlantSyntax,
  token: string,
  labels: ReadonlySet<string> | null,
): PlantedFile {
  const chosen = (checks: Readonly<Record<string, string>>) =>
    Object.entries(checks).filter(([label]) => labels === null || labels.has(label));
  if (syntax === 'go') return goFile(file, token, chosen);
  const text =
    syntax === 'python'
      ? python(token, chosen)
      : syntax === 'rust'
        ? rust(file, token, chosen)
        : javascript(file, syntax, token, chosen);
  return { path: file.path, content: `${file.content.replace(/\n?$/, '\n')}\n${withValues(text, token)}\n` };
}

/** Two unequal numbers that follow from the token, so that no assertion can be bent for them alone. */
function withValues(text: string, token: string): string {
  const one = Number.parseInt(token.slice(-6), 16) || 0;
  return text.replace(/\bONE\b/g, String(one)).replace(/\bOTHER\b/g, String(one + 1));
}

type Chosen = (checks: Readonly<Record<string, string>>) => readonly (readonly [string, string])[];

function javascript(
  { path, content }: PlantedFile,
  syntax: Exclude<PlantSyntax, 'go' | 'python' | 'rust'>,
  token: string,
  chosen: Chosen,
): string {
  const load = isModule(path, content)
    ? (name: string, from: string) => `import ${name} from '${from}';`
    : (name: string, from: string) => `const ${name.replaceAll(' as ', ': ')} = require('${from}');`;
  const [test, expect, assert, chai] = ['test', 'expect', 'assert', 'chai'].map((word) => `${token}${word}`);
  const named = (code: string) =>
    code
      .replaceAll('TOKEN', token)
      .replaceAll('ASSERT', assert ?? '')
      .replaceAll('EXPECT', expect ?? '')
      .replaceAll('CHAI', chai ?? '');
  const tests = (call: string, checks: Readonly<Record<string, string>>) =>
    chosen(checks).map(([label, code]) => `${call}('${token}_${label}', () => { ${named(code)}; });`);
  const usesChai = /['"]chai['"]/.test(content);
  const chaiLoad = usesChai ? [load(isModule(path, content) ? `* as ${chai}` : `${chai}`, 'chai')] : [];
  const common = { ...THROW, ...ASSERT, ...(usesChai ? CHAI : {}) };
  const assertLoad = load(`${assert}`, 'node:assert');
  switch (syntax) {
    case 'node:test':
      return [
        load(`{ test as ${test} }`, 'node:test'),
        assertLoad,
        ...chaiLoad,
        ...tests(`${test}`, common),
      ].join('\n');
    case 'vitest':
      return [
        load(`{ test as ${test}, expect as ${expect} }`, 'vitest'),
        ...tests(`${test}`, { ...THROW, ...EXPECT }),
      ].join('\n');
    case 'jest': {
      const imported = /['"]@jest\/globals['"]/.test(content);
      const head = imported
        ? load(`{ test as ${test}, expect as ${expect} }`, '@jest/globals')
        : `const ${test} = test, ${expect} = expect;`;
      return [head, ...tests(`${test}`, { ...THROW, ...EXPECT })].join('\n');
    }
    case 'mocha': {
      const call = /\bit\s*\(/.test(content) || !/\btest\s*\(/.test(content) ? 'it' : 'test';
      return [assertLoad, ...chaiLoad, ...tests(call, common)].join('\n');
    }
    case 'ava': {
      const checks = {
        is: 't.is(ONE, OTHER)',
        deepEqual: 't.deepEqual([ONE], [OTHER])',
        true: 't.true(false)',
        throws: 't.throws(() => {})',
      };
      const calls = chosen(checks).map(
        ([label, code]) => `${test}('${token}_${label}', (t) => { ${code}; });`,
      );
      return [load(`${test}`, 'ava'), ...calls].join('\n');
    }
    case 'tap':
    case 'tape': {
      const deep = syntax === 'tap' ? 'same' : 'deepEqual';
      const checks = {
        equal: 't.equal(ONE, OTHER, NAME)',
        ok: 't.ok(false, NAME)',
        [deep]: `t.${deep}([ONE], [OTHER], NAME)`,
      };
      const calls = chosen(checks).map(
        ([label, code]) => `  ${code.replace('NAME', `'${token}_${label}'`)};`,
      );
      const tapLoad = load(syntax === 'tap' && isModule(path, content) ? `* as ${test}` : `${test}`, syntax);
      const call = syntax === 'tap' ? `${test}.test` : `${test}`;
      return [tapLoad, `${call}('${token}', (t) => {`, ...calls, '  t.end();', '});'].join('\n');
    }
    case 'script': {
      const checks = Object.values(ASSERT).map((code) => `() => ${named(code)}`);
      const count = `${token}count`;
      return [
        assertLoad,
        `let ${count} = 0;`,
        `for (const check of [${checks.join(', ')}]) { try { check(); } catch { ${count} += 1; } }`,
        `if (${count} === ${checks.length}) throw new Error('${token}');`,
      ].join('\n');
    }
  }
}

/** By ending, else by whether the file imports or exports. */
function isModule(path: string, content: string): boolean {
  if (/\.(mjs|mts)$/.test(path)) return true;
  if (/\.(cjs|cts)$/.test(path)) return false;
  return /^\s*(?:import\s*(?:[\w{*'"]|type\b)|export\s)/m.test(content);
}

function python(token: string, chosen: Chosen): string {
  const functions = chosen({ assert: 'assert ONE == OTHER', raise: `raise AssertionError('${token}')` });
  const methods = chosen({
    assertEqual: 'self.assertEqual(ONE, OTHER)',
    assertTrue: 'self.assertTrue(False)',
  });
  const lines = functions.flatMap(([label, code]) => [`def test_${token}_${label}():`, `    ${code}`, '']);
  if (methods.length === 0) return lines.join('\n');
  const body = methods.flatMap(([label, code]) => [
    `    def test_${token}_${label}(self):`,
    `        ${code}`,
    '',
  ]);
  return [...lines, `class Test${token}(__import__('unittest').TestCase):`, ...body].join('\n');
}

function rust({ path }: PlantedFile, token: string, chosen: Chosen): string {
  const checks = { eq: 'assert_eq!(ONE, OTHER);', assert: 'assert!(false);', panic: `panic!("${token}");` };
  const tests = chosen(checks).flatMap(([label, code]) => ['#[test]', `fn ${token}_${label}() { ${code} }`]);
  if (/(^|\/)tests\//.test(path)) return tests.join('\n');
  return ['#[cfg(test)]', `mod ${token} {`, ...tests, '}'].join('\n');
}

function goFile({ path, content }: PlantedFile, token: string, chosen: Chosen): PlantedFile {
  const name = /^package\s+(\w{1,100})/m.exec(content)?.[1] ?? 'main';
  const checks = { fatal: `t.Fatal("${token}")`, error: `t.Error("${token}")`, fail: 't.Fail()' };
  const tests = chosen(checks).map(
    ([label, code]) => `func Test_${token}_${label}(t *testing.T) { ${code} }`,
  );
  const folder = path.includes('/') ? path.replace(/[^/]*$/, '') : '';
  return {
    path: `${folder}zz_${token}_test.go`,
    content: [`package ${name}`, '', 'import "testing"', '', ...tests, ''].join('\n'),
  };
}
