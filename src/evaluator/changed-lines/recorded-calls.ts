/** Finds real inputs for the differential comparison: the calls with complete arguments in tests, benchmark and sources. */
import { type ParserPlugin, parse } from '@babel/parser';
import { childrenOf, isNode, type SyntaxNode } from './syntax-node.js';

/** Inputs for the generators: what real code gives to functions of a name, and texts and numbers that appear in it. */
export interface DifferentialInputs {
  /** Arguments as source text, by the last name of what is called. They stand for themselves: no name of the file is used. */
  readonly recorded: Readonly<Record<string, readonly (readonly string[])[]>>;
  readonly literals: { readonly strings: readonly string[]; readonly numbers: readonly number[] };
}

const MOST_CALLS_PER_NAME = 60;
const MOST_LITERALS = 300;
const MOST_SOURCE_CHARS = 4000;
const MOST_TEXT_CHARS = 300;
/** Names that mean the same everywhere. */
const GLOBALS = new Set([
  ...[
    'undefined',
    'NaN',
    'Infinity',
    'Math',
    'Array',
    'Object',
    'String',
    'Number',
    'Boolean',
    'Date',
    'Map',
  ],
  ...[
    'Set',
    'RegExp',
    'BigInt',
    'Symbol',
    'JSON',
    'Error',
    'TypeError',
    'Promise',
    'Uint8Array',
    'Int32Array',
  ],
  ...['Float64Array', 'Float32Array', 'Uint16Array', 'Uint32Array', 'parseInt', 'parseFloat', 'isNaN'],
]);

/** Sources by path; those that cannot be parsed give nothing. */
export function recordedInputs(sources: ReadonlyMap<string, string>): DifferentialInputs {
  const recorded = new Map<string, string[][]>();
  const strings = new Set<string>();
  const numbers = new Set<number>();
  for (const [path, source] of sources) {
    const tree = treeOf(path, source);
    if (tree === null) continue;
    const constants = constantsOf(tree, source);
    for (const node of nodesOf(tree)) {
      if (node.type === 'StringLiteral' && typeof node.value === 'string') strings.add(node.value);
      if (node.type === 'NumericLiteral' && typeof node.value === 'number') numbers.add(node.value);
      if (node.type !== 'CallExpression' && node.type !== 'NewExpression') continue;
      const name = calleeName(node.callee);
      const calls = recorded.get(name ?? '') ?? [];
      if (name === null || calls.length >= MOST_CALLS_PER_NAME) continue;
      const given = argumentsOf(node, source, constants);
      if (given !== null) recorded.set(name, [...calls, given]);
    }
    for (const [local, exported] of importedNames(tree)) {
      const calls = recorded.get(local);
      if (calls !== undefined && local !== exported)
        recorded.set(exported, [...(recorded.get(exported) ?? []), ...calls]);
    }
  }
  const texts = [...strings].filter((text) => text.length > 0 && text.length <= MOST_TEXT_CHARS);
  return {
    recorded: Object.fromEntries(recorded),
    literals: { strings: texts.slice(0, MOST_LITERALS), numbers: [...numbers].slice(0, MOST_LITERALS) },
  };
}

function treeOf(path: string, source: string): SyntaxNode | null {
  const typescript: ParserPlugin[] = /\.[cm]?tsx?$/i.test(path) ? ['typescript'] : [];
  try {
    const { program } = parse(source, {
      sourceType: 'unambiguous',
      plugins: typescript,
      errorRecovery: true,
    });
    return isNode(program) ? program : null;
  } catch {
    return null;
  }
}

function nodesOf(node: SyntaxNode): readonly SyntaxNode[] {
  const found: SyntaxNode[] = [];
  const left = [node];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    found.push(next);
    left.push(...[...childrenOf(next)].reverse());
  }
  return found;
}

/** `parse` of `parse(…)`, `cookie.parse(…)`, `bin().domain(…)`. */
function calleeName(callee: unknown): string | null {
  if (!isNode(callee)) return null;
  if (callee.type === 'Identifier') return textOf(callee.name);
  if (callee.type !== 'MemberExpression' || callee.computed === true || !isNode(callee.property)) return null;
  return textOf(callee.property.name);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Source texts of the arguments; null where one of them needs something of its file that is no constant. */
function argumentsOf(
  call: SyntaxNode,
  source: string,
  constants: ReadonlyMap<string, string>,
): string[] | null {
  const given = Array.isArray(call.arguments) ? call.arguments.filter(isNode) : [];
  const texts: string[] = [];
  for (const each of given) {
    const text = standsAlone(each, source, constants);
    if (text === null) return null;
    texts.push(text);
  }
  return texts;
}

/** The text of an expression, with the constants that it uses written into it. */
function standsAlone(
  node: SyntaxNode,
  source: string,
  constants: ReadonlyMap<string, string>,
): string | null {
  if (node.type === 'SpreadElement' || node.end - node.start > MOST_SOURCE_CHARS) return null;
  const bound = new Set(nodesOf(node).flatMap(boundNames));
  const used = new Set<string>();
  for (const name of freeNames(node)) {
    if (bound.has(name) || GLOBALS.has(name)) continue;
    if (!constants.has(name)) return null;
    used.add(name);
  }
  if (nodesOf(node).some(({ type }) => /^(Await|Yield|Import|This|Super|JSX|TS)/.test(type))) return null;
  const text = source.slice(node.start, node.end);
  if (used.size === 0) return text;
  const made = [...used].map((name) => `const ${name} = ${constants.get(name)};`).join(' ');
  return made.length > MOST_SOURCE_CHARS ? null : `(() => { ${made} return (${text}); })()`;
}

function freeNames(node: SyntaxNode): readonly string[] {
  if (node.type === 'Identifier') return [textOf(node.name) ?? ''];
  const left = (name: string) =>
    node.computed !== true &&
    ((node.type === 'MemberExpression' && name === 'property') ||
      (node.type === 'OptionalMemberExpression' && name === 'property') ||
      (node.type === 'ObjectMethod' && name === 'key') ||
      (node.type === 'ObjectProperty' && name === 'key'));
  return Object.entries(node).flatMap(([name, value]) => {
    if (left(name) || name.endsWith('Comments')) return [];
    const children = Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [];
    return children.flatMap(freeNames);
  });
}

/** Names that an expression makes itself: parameters and variables of its functions. */
function boundNames(node: SyntaxNode): readonly string[] {
  const patterns = [
    ...(Array.isArray(node.params) ? node.params : []),
    ...(node.type === 'VariableDeclarator' ? [node.id] : []),
  ];
  return patterns
    .filter(isNode)
    .flatMap((pattern) =>
      nodesOf(pattern).flatMap((each) => (each.type === 'Identifier' ? [textOf(each.name) ?? ''] : [])),
    );
}

/** Constants of the file whose values stand alone; a name that is declared twice counts for none. */
function constantsOf(tree: SyntaxNode, source: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const seen = new Set<string>();
  for (const node of nodesOf(tree)) {
    if (node.type !== 'VariableDeclarator' || !isNode(node.id) || !isNode(node.init)) continue;
    const name = textOf(node.id.name);
    if (name === null) continue;
    const text = seen.has(name) ? null : standsAlone(node.init, source, found);
    if (text === null) found.delete(name);
    else found.set(name, text);
    seen.add(name);
  }
  return found;
}

/** Local names of what the file imports, with the names by which it is exported. */
function importedNames(tree: SyntaxNode): readonly (readonly [string, string])[] {
  return nodesOf(tree).flatMap((node): [string, string][] => {
    const local = isNode(node.local) ? textOf(node.local.name) : null;
    if (local === null) return destructuredDefault(node);
    if (node.type === 'ImportDefaultSpecifier') return [[local, 'default']];
    const imported = isNode(node.imported) ? textOf(node.imported.name) : null;
    return node.type === 'ImportSpecifier' && imported !== null ? [[local, imported]] : [];
  });
}

/** `const { default: name } = await import(…)`. */
function destructuredDefault(node: SyntaxNode): [string, string][] {
  if (node.type !== 'ObjectProperty' || !isNode(node.key) || !isNode(node.value)) return [];
  const local = node.value.type === 'Identifier' ? textOf(node.value.name) : null;
  return node.key.name === 'default' && local !== null ? [[local, 'default']] : [];
}
