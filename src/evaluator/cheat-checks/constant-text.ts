/** Folds expressions that always give the same text, so that `'en' + 'v'` counts as `env`. */
import type { Node, NodePath } from '@babel/traverse';

const MAX_DEPTH = 24;
const MAX_CHARS = 4096;

/** The text that an expression always has (numbers as JavaScript prints them), or null where that cannot be told. */
export function constantText(path: NodePath, depth = 0): string | null {
  const value = constantValue(path, depth);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

/** The name that a member expression or an object's property reads or writes; null where it cannot be told. */
export function propertyName(path: NodePath): string | null {
  const { node } = path;
  if (!('computed' in node)) return null;
  const key = path.get(path.isMemberExpression() || path.isOptionalMemberExpression() ? 'property' : 'key') as
    | NodePath
    | NodePath[];
  if (Array.isArray(key)) return null;
  if (key.isPrivateName()) return `#${key.node.id.name}`;
  if (!node.computed && key.isIdentifier()) return key.node.name;
  return constantText(key);
}

type Constant = string | number | readonly Constant[];

/** By initialiser: `const a = b + b; const b = c + c; …` would else be folded exponentially often. */
const constantsOfNames = new WeakMap<Node, Constant | null>();

function constantValue(path: NodePath, depth: number): Constant | null {
  if (depth > MAX_DEPTH) return null;
  const bare = withoutTypes(path);
  if (bare.isStringLiteral() || bare.isNumericLiteral()) return bare.node.value;
  if (bare.isTemplateLiteral()) return templateText(bare, depth);
  if (bare.isBinaryExpression({ operator: '+' })) {
    return sum(constantValue(bare.get('left'), depth + 1), constantValue(bare.get('right'), depth + 1));
  }
  if (bare.isIdentifier()) return constantOfName(bare, depth);
  if (bare.isArrayExpression()) {
    const items = bare.get('elements').map((item) => constantValue(item as NodePath, depth + 1));
    return items.some((item) => item === null) ? null : (items as Constant[]);
  }
  if (bare.isSequenceExpression()) {
    const last = bare.get('expressions').at(-1);
    return last === undefined ? null : constantValue(last, depth + 1);
  }
  return bare.isCallExpression() ? callValue(bare, depth) : null;
}

/** Looks through TypeScript's casts. */
export function withoutTypes(path: NodePath): NodePath {
  let bare = path;
  while (
    bare.isTSAsExpression() ||
    bare.isTSSatisfiesExpression() ||
    bare.isTSNonNullExpression() ||
    bare.isTSTypeAssertion() ||
    bare.isTSInstantiationExpression() ||
    bare.isTypeCastExpression() ||
    bare.isParenthesizedExpression()
  ) {
    bare = bare.get('expression') as NodePath;
  }
  return bare;
}

function sum(left: Constant | null, right: Constant | null): Constant | null {
  if (left === null || right === null) return null;
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  return bounded(`${left}${right}`);
}

function bounded(text: string): string | null {
  return text.length > MAX_CHARS ? null : text;
}

function templateText(
  template: NodePath & { node: { quasis: { value: { cooked?: string | null } }[] } },
  depth: number,
): string | null {
  const parts = template.get('expressions') as NodePath[];
  let text = '';
  for (const [index, quasi] of template.node.quasis.entries()) {
    text += quasi.value.cooked ?? '';
    const part = parts[index];
    if (part === undefined) continue;
    const value = constantText(part, depth + 1);
    if (value === null) return null;
    text += value;
  }
  return bounded(text);
}

function constantOfName(path: NodePath & { node: { name: string } }, depth: number): Constant | null {
  const binding = path.scope.getBinding(path.node.name);
  if (binding === undefined || !binding.constant || !binding.path.isVariableDeclarator()) return null;
  const init = binding.path.get('init') as NodePath;
  if (!binding.path.get('id').isIdentifier() || !init.node) return null;
  const known = constantsOfNames.get(init.node);
  if (known !== undefined) return known;
  const value = constantValue(init, depth + 1);
  constantsOfNames.set(init.node, value);
  return value;
}

function callValue(call: NodePath, depth: number): Constant | null {
  const callee = call.get('callee') as NodePath;
  if (!callee.isMemberExpression()) return null;
  const name = propertyName(callee);
  const args = (call.get('arguments') as NodePath[]).map((each) => constantValue(each, depth + 1));
  if (name === null || args.some((each) => each === null)) return null;
  if (name === 'fromCharCode' || name === 'fromCodePoint') return charactersOf(args);
  const target = constantValue(callee.get('object'), depth + 1);
  return target === null ? null : applied(target, name, args.map(String));
}

function charactersOf(codes: readonly (Constant | null)[]): string | null {
  const numbers = codes.map(Number);
  return numbers.every((code) => code >= 0 && code <= 0xffff) ? String.fromCharCode(...numbers) : null;
}

function applied(target: Constant, name: string, args: readonly string[]): Constant | null {
  if (typeof target === 'object') return appliedToList(target, name, args);
  const text = String(target);
  const [first = '', second] = args;
  switch (name) {
    case 'concat':
      return bounded(text + args.join(''));
    case 'toLowerCase':
      return text.toLowerCase();
    case 'toUpperCase':
      return text.toUpperCase();
    case 'trim':
      return text.trim();
    case 'slice':
    case 'substring':
      return text.slice(Number(first), second === undefined ? undefined : Number(second));
    case 'replace':
      return args.length === 2 ? bounded(text.replace(first, () => second ?? '')) : null;
    case 'split':
      return args.length === 1 ? text.split(first) : null;
    case 'toString':
    case 'valueOf':
      return args.length === 0 ? text : null;
    default:
      return null;
  }
}

function appliedToList(list: readonly Constant[], name: string, args: readonly string[]): Constant | null {
  if (name === 'join') return bounded(list.join(args[0] ?? ','));
  if (name === 'reverse') return [...list].reverse();
  return null;
}
