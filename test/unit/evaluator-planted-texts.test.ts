import { parse } from '@babel/parser';
import { describe, expect, it } from 'vitest';
import { type PlantSyntax, planted, syntaxOf } from '../../src/evaluator/tests/planted-texts.js';

const TOKEN = 'q0123456789ab';

describe('the syntax for a planted test', () => {
  it.each<[string, string, string | null, PlantSyntax | null]>([
    ['a.test.js', "import { test } from 'node:test';", null, 'node:test'],
    ['a.test.ts', "import { it } from 'vitest';", 'jest', 'vitest'],
    ['a.test.js', "it('x', () => {})", 'jest', 'jest'],
    ['a.test.tsx', "it('x', () => {})", 'vitest', 'vitest'],
    ['a.js', "it('x', () => {})", 'mocha', 'mocha'],
    ['a.js', "const test = require('tape');", 'tap', 'tape'],
    ['a.js', "import t from 'tap';", null, 'tap'],
    ['a.js', "import test from 'ava';", 'tap', 'ava'],
    ['test.js', "require('./index.js')", null, 'script'],
    ['a_test.go', 'package a', 'go', 'go'],
    ['test_a.py', 'def test_a(): pass', null, 'python'],
    ['src/lib.rs', '', 'cargo', 'rust'],
    ['data.json', '{}', null, null],
  ])('of %s with %j reported by %s is %s', (path, content, runner, expected) => {
    expect(syntaxOf(path, content, runner)).toBe(expected);
  });
});

describe('a planted text', () => {
  const SYNTAXES: readonly PlantSyntax[] = [
    'node:test',
    'vitest',
    'jest',
    'mocha',
    'tap',
    'tape',
    'ava',
    'script',
  ];

  it.each(
    SYNTAXES.flatMap(
      (syntax) =>
        [
          [syntax, 'a.test.mjs', "import x from 'x'"],
          [syntax, 'a.test.js', "const x = require('x')"],
        ] as const,
    ),
  )('for %s parses behind %s without a line end', (syntax, path, content) => {
    const file = planted({ path, content }, syntax, TOKEN, null);
    expect(file.path).toBe(path);
    expect(file.content.startsWith(`${content}\n`)).toBe(true);
    const sourceType = path.endsWith('.mjs') ? 'module' : 'script';
    expect(() => parse(file.content, { sourceType })).not.toThrow();
    expect(file.content).not.toMatch(/\b(?:ONE|OTHER|ASSERT|EXPECT|CHAI|TOKEN|NAME)\b/);
    expect(file.content).not.toContain('hasten');
  });

  it('is cut down to the labels that were seen', () => {
    const all = planted({ path: 'a.js', content: '' }, 'mocha', TOKEN, null).content;
    const some = planted({ path: 'a.js', content: '' }, 'mocha', TOKEN, new Set(['equal'])).content;
    expect(all.match(/\bit\(/g)?.length).toBeGreaterThan(10);
    expect(some.match(/\bit\(/g)).toHaveLength(1);
    expect(some).toContain(`${TOKEN}_equal`);
  });

  it('uses chai where the file does, in both of its styles of module', () => {
    const content = "import { expect } from 'chai';\n";
    expect(planted({ path: 'a.mjs', content }, 'mocha', TOKEN, null).content).toContain(`${TOKEN}_chaiEqual`);
    expect(planted({ path: 'a.mjs', content: '' }, 'mocha', TOKEN, null).content).not.toContain('chai');
  });

  it("follows mocha's other interface", () => {
    const content = "suite('x', () => { test('y', () => {}); });";
    expect(planted({ path: 'a.js', content }, 'mocha', TOKEN, null).content).toContain(
      `test('${TOKEN}_equal'`,
    );
  });

  it('for Go is a file of its own in the same package', () => {
    const file = planted(
      { path: 'list/list_test.go', content: '// c\npackage list_test\n' },
      'go',
      TOKEN,
      null,
    );
    expect(file.path).toBe(`list/zz_${TOKEN}_test.go`);
    expect(file.content).toContain('package list_test');
  });
});
