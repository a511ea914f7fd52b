/** A patch that knows its benchmark: its name, its inputs or outputs as literals, answers for one special input. */
import type { Node, NodePath } from '@babel/traverse';
import type { CheatContext, CheatRule, Occurrence } from './cheat-finding.js';
import { constantText, withoutTypes } from './constant-text.js';
import { chainsOf } from './global-chain.js';
import { type ProgramPath, programOf, walk } from './source-tree.js';
import { isSpecialCase } from './special-case.js';

const MIN_TEXT_CHARS = 8;
const MIN_DIGITS = 5;
const MIN_ELEMENTS = 4;
/** Characters of encoded data from which on a literal counts as data that nobody can read. */
const OPAQUE_CHARS = 256;

export interface BenchmarkFacts {
  /** Lower case: path, file name and telling stem of each benchmark. */
  readonly names: readonly string[];
  readonly texts: ReadonlySet<string>;
  readonly numbers: ReadonlySet<number>;
  /** Array literals as JSON. */
  readonly lists: ReadonlySet<string>;
}

/** What a patch must not know. */
export function benchmarkFacts({ benchmarks }: CheatContext): BenchmarkFacts {
  const texts = new Set<string>();
  const numbers = new Set<number>();
  const lists = new Set<string>();
  for (const { path, source } of benchmarks) {
    const program = programOf(path, source);
    if (program === null) continue;
    walk(program, {
      'StringLiteral|TemplateElement|JSXText': (literal: NodePath) => {
        const text = literalText(literal.node);
        if (text !== null && text.length >= MIN_TEXT_CHARS && !isPlumbing(literal)) texts.add(text);
      },
      NumericLiteral: ({ node }) => {
        if (isTelling(node.value)) numbers.add(node.value);
      },
      ArrayExpression: (array) => {
        const list = literalList(array);
        if (list !== null) lists.add(list);
      },
    });
  }
  return { names: benchmarks.flatMap(({ path }) => namesOf(path)), texts, numbers, lists };
}

/** In the order of the source. */
export function benchmarkOccurrences(program: ProgramPath, facts: BenchmarkFacts): readonly Occurrence[] {
  const found: Occurrence[] = [];
  const add = (node: Node, rule: CheatRule, key: string, reason: string): void => {
    found.push({ rule, node, key: `${rule}:${key}`, once: true, reason });
  };
  const text = (path: NodePath, value: string): void => {
    const name = benchmarkName(value, facts);
    if (name !== null) add(path.node, 'benchmark-name', name, `The code names a benchmark (${shown(name)}).`);
    if (value.length < MIN_TEXT_CHARS || isPlumbing(path)) return;
    if (standsIn(value, facts.texts)) {
      add(path.node, 'benchmark-data', value, `The text ${shown(value)} stands in the benchmark.`);
    }
  };
  walk(program, {
    'StringLiteral|TemplateElement|JSXText': (path: NodePath) => {
      const value = literalText(path.node);
      if (value !== null) text(path, value);
    },
    'BinaryExpression|CallExpression|TemplateLiteral': (path: NodePath) => {
      const value = constantText(path);
      if (value !== null && /[^\d.]/.test(value)) text(path, value);
      const data = opaqueData(path);
      if (data !== null) add(path.node, 'opaque-data', data, 'Encoded data cannot be read by a reviewer.');
    },
    RegExpLiteral: (path) => {
      const name = benchmarkName(path.node.pattern.replace(/\\(.)/g, '$1'), facts);
      if (name !== null)
        add(path.node, 'benchmark-name', name, `A pattern names a benchmark (${shown(name)}).`);
    },
    NumericLiteral: ({ node }) => {
      if (!isTelling(node.value) || !facts.numbers.has(node.value)) return;
      add(node, 'benchmark-data', String(node.value), `The number ${node.value} stands in the benchmark.`);
    },
    ArrayExpression: (path) => {
      const list = literalList(path);
      if (list === null || !facts.lists.has(list)) return;
      add(path.node, 'benchmark-data', list, `The list ${shown(list)} stands in the benchmark.`);
    },
    'IfStatement|ConditionalExpression|SwitchCase': (path: NodePath) => {
      const special = isSpecialCase(path);
      if (special === null) return;
      add(
        path.node,
        'special-case',
        special,
        `One special input (${shown(special)}) is given a ready answer.`,
      );
    },
    'BinaryExpression|SwitchStatement': (path: NodePath) => {
      const digest = comparedDigest(path);
      if (digest === null) return;
      add(path.node, 'special-case', digest, `An input is recognised by ${shown(digest)}.`);
    },
  });
  return found;
}

function literalText(node: Node): string | null {
  if (node.type === 'StringLiteral' || node.type === 'JSXText') return node.value;
  return node.type === 'TemplateElement' ? (node.value.cooked ?? null) : null;
}

function namesOf(path: string): readonly string[] {
  const file = path.toLowerCase().split('/').at(-1) ?? '';
  const stem = file.replace(/(?:[._-](?:bench|benchmark|perf))?\.[^.]+$/, '');
  return [path.toLowerCase(), file, ...(stem.length >= MIN_TEXT_CHARS ? [stem] : [])];
}

const BENCHMARK_WORD = /(?:^|[^a-z])(bench(?:mark)?(?:s|ing)?|hasten)(?![a-z])/i;

function benchmarkName(text: string, facts: BenchmarkFacts): string | null {
  const lower = text.toLowerCase();
  const name = facts.names.find((each) => lower.includes(each));
  return name ?? BENCHMARK_WORD.exec(text)?.[1]?.toLowerCase() ?? null;
}

/** Equal, or a long part of it: `startsWith('The quick br')` knows the input as well. */
function standsIn(text: string, texts: ReadonlySet<string>): boolean {
  if (texts.has(text)) return true;
  if (text.length < MIN_TEXT_CHARS + 4) return false;
  return [...texts].some((each) => each.includes(text) || (each.length >= 16 && text.includes(each)));
}

const TYPE_NAMES = new Set(['undefined', 'function', 'use strict', '[object Object]', '[object Array]']);

/** Texts that stand in any two files: module names, directives, names of types, keys of properties. */
function isPlumbing(path: NodePath): boolean {
  const { parentPath: parent, node, key } = path;
  if (parent === null || TYPE_NAMES.has(literalText(node) ?? '')) return true;
  if (parent.isImportDeclaration() || parent.isExportDeclaration() || parent.isImportExpression())
    return true;
  if (parent.isDirective() || (parent.isObjectProperty() && key === 'key')) return true;
  if (!parent.isCallExpression()) return false;
  const callee = parent.get('callee') as NodePath;
  return callee.isImport() || callee.isIdentifier({ name: 'require' });
}

function isTelling(value: number): boolean {
  const digits = value
    .toString()
    .replace(/e.*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '');
  if (digits.length < MIN_DIGITS || !Number.isFinite(value)) return false;
  return ![-1, 0, 1].some((step) => isPowerOfTwo(Math.abs(value) + step));
}

function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(Math.log2(value)) && 2 ** Math.log2(value) === value;
}

function literalList(array: NodePath): string | null {
  const elements = array.get('elements') as NodePath[];
  if (elements.length < MIN_ELEMENTS) return null;
  const values: unknown[] = [];
  for (const element of elements) {
    const { node } = withoutTypes(element);
    const negative = node?.type === 'UnaryExpression' && node.operator === '-' ? node.argument : null;
    if (node?.type === 'StringLiteral' || node?.type === 'NumericLiteral') values.push(node.value);
    else if (negative?.type === 'NumericLiteral') values.push(-negative.value);
    else return null;
  }
  return new Set(values).size >= MIN_ELEMENTS ? JSON.stringify(values) : null;
}

const DECODERS = /^(?:atob|JSON\.parse|Buffer\.from|Uint8Array\.fromBase64|Uint8Array\.fromHex)$/;

function opaqueData(path: NodePath): string | null {
  if (!path.isCallExpression()) return null;
  const [first] = path.get('arguments') as NodePath[];
  const value = first === undefined ? null : constantText(first);
  if (value === null || value.length < OPAQUE_CHARS) return null;
  const decodes = chainsOf(path.get('callee') as NodePath).some((chain) => DECODERS.test(chain.join('.')));
  return decodes ? value.slice(0, 40) : null;
}

const DIGEST = /^(?=.*\d)(?=.*[a-z])(?:[0-9a-f]{16,}|[A-Za-z0-9+/_-]{20,}={0,2})$/i;

/** A long digest or number that something is compared with. */
function comparedDigest(path: NodePath): string | null {
  const sides = path.isBinaryExpression()
    ? /^[!=]==?$/.test(path.node.operator)
      ? [path.get('left') as NodePath, path.get('right')]
      : []
    : (path.get('cases') as NodePath[]).map((each) => each.get('test') as NodePath);
  for (const side of sides) {
    const bare = side.node ? withoutTypes(side) : side;
    if (bare.isStringLiteral() && DIGEST.test(bare.node.value)) return bare.node.value;
    if (bare.isNumericLiteral() && bare.node.value > 1e6 && isTelling(bare.node.value)) {
      return String(bare.node.value);
    }
  }
  return null;
}

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
