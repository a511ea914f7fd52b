/**
 * What an expression reaches from outside the file, as a chain of names: `process.env.X` and every way to write it
 * (aliases, destructuring, imports, computed names, `Reflect.get`) give `['process', 'env', 'X']`.
 */
import { builtinModules } from 'node:module';
import type { Binding, Node, NodePath } from '@babel/traverse';
import { constantText, propertyName, withoutTypes } from './constant-text.js';

/** First a global, `node:<module>`, `import.meta`, or one of the words in angle brackets; `?` is a name that cannot be told. */
export type Chain = readonly string[];

export const UNKNOWN_NAME = '?';
/** Some object's prototype or constructor, reached through an instance. */
export const PROTOTYPE = '<prototype>';
export const CONSTRUCTOR = '<constructor>';
export const ERROR = '<error>';

const GLOBAL_OBJECTS = new Set(['globalThis', 'global', 'window', 'self', 'frames']);
const ERRORS = /^(?:[A-Z]\w*)?Error$/;
const MAX_DEPTH = 200;
const MAX_CHAINS = 8;

/** Every chain that an expression may stand for; empty for what only this file knows. */
export function chainsOf(path: NodePath, depth = 0): readonly Chain[] {
  if (depth > MAX_DEPTH || !path.node) return [];
  const known = resolved.get(path.node);
  if (known !== undefined) return known;
  resolved.set(path.node, []);
  const chains = distinct(resolve(withoutTypes(path), depth).map(normal)).slice(0, MAX_CHAINS);
  resolved.set(path.node, chains);
  return chains;
}

/** By node: each is resolved once, also where names refer to each other in a circle. */
const resolved = new WeakMap<Node, readonly Chain[]>();

function resolve(path: NodePath, depth: number): readonly Chain[] {
  if (path.isIdentifier() || path.isJSXIdentifier()) return ofName(path, depth);
  if (path.isMemberExpression() || path.isOptionalMemberExpression()) return ofMember(path, depth);
  if (path.isCallExpression() || path.isOptionalCallExpression()) return ofCall(path, depth);
  if (path.isNewExpression()) {
    const [made] = chainsOf(builtClass(path.get('callee')), depth + 1);
    return made?.length === 1 && ERRORS.test(made[0] ?? '') ? [[ERROR]] : [];
  }
  if (path.isMetaProperty()) return path.node.meta.name === 'import' ? [['import.meta']] : [];
  if (path.isThisExpression()) return isCalledBare(path) ? [['globalThis']] : [];
  if (path.isAwaitExpression()) return chainsOf(path.get('argument'), depth + 1);
  if (path.isAssignmentExpression()) return chainsOf(path.get('right'), depth + 1);
  return either(path).flatMap((each) => chainsOf(each, depth + 1));
}

/** What a class of the file is built on in the end; anything else is itself. */
function builtClass(callee: NodePath): NodePath {
  let current = callee;
  for (let step = 0; step < MAX_CHAINS; step++) {
    const declared = current.isIdentifier() ? current.scope.getBinding(current.node.name)?.path : current;
    const owner = declared?.isVariableDeclarator() ? (declared.get('init') as NodePath) : declared;
    if (owner?.isClass() !== true || owner.node.superClass == null) return current;
    current = owner.get('superClass') as NodePath;
  }
  return current;
}

function either(path: NodePath): readonly NodePath[] {
  if (path.isLogicalExpression()) return [path.get('left') as NodePath, path.get('right')];
  if (path.isConditionalExpression()) return [path.get('consequent'), path.get('alternate')];
  const last = path.isSequenceExpression() ? path.get('expressions').at(-1) : undefined;
  return last === undefined ? [] : [last];
}

function ofMember(path: NodePath, depth: number): readonly Chain[] {
  const object = path.get('object') as NodePath;
  const name = propertyName(path) ?? UNKNOWN_NAME;
  const literal = literalProperty(object, name);
  if (literal !== null) return chainsOf(literal, depth + 1);
  const chains = chainsOf(object, depth + 1);
  if (chains.length > 0) return chains.map((chain) => [...chain, name]);
  if (name === '__proto__') return [[PROTOTYPE]];
  return name === 'constructor' ? [[CONSTRUCTOR]] : [];
}

function ofCall(path: NodePath, depth: number): readonly Chain[] {
  const callee = path.get('callee') as NodePath;
  const args = path.get('arguments') as NodePath[];
  const [first, second] = args;
  if (callee.isImport() && first !== undefined) return ofModule(constantText(first));
  if (callee.isFunctionExpression() && returnsThis(callee)) return [['globalThis']];
  for (const chain of chainsOf(callee, depth + 1)) {
    const called = chain.join('.');
    if (called === 'require' && first !== undefined) return ofModule(constantText(first));
    if (called === 'Object.getPrototypeOf' || called === 'Reflect.getPrototypeOf') return [[PROTOTYPE]];
    if (ERRORS.test(called)) return [[ERROR]];
    if (called === 'Reflect.get' && first !== undefined && second !== undefined) {
      const name = constantText(second) ?? UNKNOWN_NAME;
      return chainsOf(first, depth + 1).map((each) => [...each, name]);
    }
    if (called === 'Object' && first !== undefined) return chainsOf(first, depth + 1);
  }
  return [];
}

function ofName(path: NodePath & { node: { name: string } }, depth: number): readonly Chain[] {
  const { name } = path.node;
  const binding = path.scope.getBinding(name);
  if (binding === undefined) return name === 'undefined' ? [] : [[name]];
  return [...ofDeclaration(binding, depth), ...ofAssignments(binding, depth)];
}

function ofAssignments(binding: Binding, depth: number): readonly Chain[] {
  return binding.constantViolations.slice(0, MAX_CHAINS).flatMap((violation) => {
    if (!violation.isAssignmentExpression()) return [];
    const left = violation.get('left') as NodePath;
    const right = violation.get('right');
    return left.isIdentifier() ? chainsOf(right, depth + 1) : ofPattern(left, right, binding, depth);
  });
}

function ofDeclaration(binding: Binding, depth: number): readonly Chain[] {
  const { path } = binding;
  if (path.isVariableDeclarator()) {
    const id = path.get('id') as NodePath;
    const init = path.get('init') as NodePath;
    const loop = path.parentPath?.parentPath;
    if (loop?.isForOfStatement() === true && path.parentPath?.key === 'left') {
      return elementsOf(loop.get('right')).flatMap((each) =>
        id.isIdentifier() ? chainsOf(each, depth + 1) : ofPattern(id, each, binding, depth),
      );
    }
    return id.isIdentifier() ? chainsOf(init, depth + 1) : ofPattern(id, init, binding, depth);
  }
  if (path.isImportNamespaceSpecifier() || path.isImportDefaultSpecifier()) return ofImport(path, null);
  if (path.isImportSpecifier()) {
    const { imported } = path.node;
    return ofImport(path, imported.type === 'Identifier' ? imported.name : imported.value);
  }
  if (path.isTSImportEqualsDeclaration()) {
    const reference = path.get('moduleReference');
    return reference.isTSExternalModuleReference() ? ofModule(reference.node.expression.value) : [];
  }
  if (path.parentPath?.isCatchClause() || path.isCatchClause()) return [[ERROR]];
  return binding.kind === 'param' ? ofParameter(binding, depth) : [];
}

/** What stands at a parameter: its default, and what is passed wherever the function is called by its name or at once. */
function ofParameter(binding: Binding, depth: number): readonly Chain[] {
  const owner = binding.scope.path;
  if (!owner.isFunction()) return [];
  const parameters = owner.get('params') as NodePath[];
  const index = parameters.findIndex((each) => each.node === binding.path.node);
  const parameter = parameters[index];
  if (parameter === undefined) return [];
  const target = parameter.isAssignmentPattern() ? (parameter.get('left') as NodePath) : parameter;
  const values = parameter.isAssignmentPattern() ? [parameter.get('right')] : [];
  for (const call of callsOf(owner)) {
    const passed = (call.get('arguments') as NodePath[])[index];
    if (passed !== undefined) values.push(passed);
  }
  if (index === 0) values.push(...elementsGivenTo(owner));
  return values.flatMap((value) =>
    target.isIdentifier() ? chainsOf(value, depth + 1) : ofPattern(target, value, binding, depth),
  );
}

/** The elements of an array literal, as far as it is one. */
function elementsOf(list: NodePath): readonly NodePath[] {
  const bare = withoutTypes(list);
  return bare.isArrayExpression() ? (bare.get('elements') as NodePath[]).filter((each) => each.node) : [];
}

/** What a method of an array literal gives to its callback. */
function elementsGivenTo(owner: NodePath): readonly NodePath[] {
  const { parentPath: call, listKey } = owner;
  if (call?.isCallExpression() !== true || listKey !== 'arguments') return [];
  const callee = call.get('callee') as NodePath;
  return callee.isMemberExpression() ? elementsOf(callee.get('object')) : [];
}

function callsOf(owner: NodePath): readonly NodePath[] {
  const { parentPath: parent } = owner;
  if (parent !== null && isCallOf(parent, owner)) return [parent];
  const name = nameOf(owner);
  if (name === null) return [];
  const references = owner.scope.parent?.getBinding(name)?.referencePaths ?? [];
  return references
    .flatMap((each) => (each.parentPath !== null && isCallOf(each.parentPath, each) ? [each.parentPath] : []))
    .slice(0, MAX_CHAINS);
}

function isCallOf(parent: NodePath, callee: NodePath): boolean {
  return (parent.isCallExpression() || parent.isNewExpression()) && parent.node.callee === callee.node;
}

/** The name by which a function is known in the scope around it, or null. */
export function nameOf(owner: NodePath): string | null {
  if (owner.isFunctionDeclaration()) return owner.node.id?.name ?? null;
  const { parentPath: parent } = owner;
  if (parent?.isVariableDeclarator() && parent.node.id.type === 'Identifier') return parent.node.id.name;
  return null;
}

function ofPattern(pattern: NodePath, value: NodePath, binding: Binding, depth: number): readonly Chain[] {
  const keys = keysTo(pattern, binding.identifier);
  if (keys === null) return [];
  const [first, ...rest] = keys;
  const literal = first === undefined ? null : literalProperty(value, first);
  if (literal !== null) return chainsOf(literal, depth + 1).map((chain) => [...chain, ...rest]);
  return chainsOf(value, depth + 1).map((chain) => [...chain, ...keys]);
}

/** The names from a destructuring pattern's value down to one identifier in it. */
function keysTo(pattern: NodePath, identifier: Node): readonly string[] | null {
  if (pattern.node === identifier) return [];
  if (pattern.isAssignmentPattern()) return keysTo(pattern.get('left') as NodePath, identifier);
  if (pattern.isRestElement()) return prefixed(UNKNOWN_NAME, keysTo(pattern.get('argument'), identifier));
  if (pattern.isObjectPattern()) {
    for (const property of pattern.get('properties') as NodePath[]) {
      const keys = property.isObjectProperty()
        ? prefixed(
            propertyName(property) ?? UNKNOWN_NAME,
            keysTo(property.get('value') as NodePath, identifier),
          )
        : keysTo(property, identifier);
      if (keys !== null) return keys;
    }
  }
  if (pattern.isArrayPattern()) {
    for (const [index, element] of (pattern.get('elements') as NodePath[]).entries()) {
      const keys = element.node ? prefixed(String(index), keysTo(element, identifier)) : null;
      if (keys !== null) return keys;
    }
  }
  return null;
}

function prefixed(name: string, keys: readonly string[] | null): readonly string[] | null {
  return keys === null ? null : [name, ...keys];
}

/** The value of a property that an object or array literal gives, directly or by the name of a constant. */
function literalProperty(path: NodePath, name: string): NodePath | null {
  let object = withoutTypes(path);
  if (object.isIdentifier()) {
    const binding = object.scope.getBinding(object.node.name);
    if (binding === undefined || !binding.path.isVariableDeclarator()) return null;
    if (!binding.path.get('id').isIdentifier()) return null;
    object = withoutTypes(binding.path.get('init') as NodePath);
  }
  if (object.isArrayExpression()) {
    const element = (object.get('elements') as NodePath[])[Number(name)];
    return element?.node ? element : null;
  }
  if (!object.isObjectExpression()) return null;
  const found = (object.get('properties') as NodePath[]).find(
    (property) => property.isObjectProperty() && propertyName(property) === name,
  );
  return found === undefined ? null : (found.get('value') as NodePath);
}

function ofImport(specifier: NodePath, name: string | null): readonly Chain[] {
  const declaration = specifier.parentPath;
  if (!declaration?.isImportDeclaration()) return [];
  const chains = ofModule(declaration.node.source.value);
  return name === null || name === 'default' ? chains : chains.map((chain) => [...chain, name]);
}

/** Chains of a built-in module; `process` and the globals that modules give again count as those globals. */
function ofModule(specifier: string | null): readonly Chain[] {
  const name = specifier === null ? null : builtinModule(specifier);
  if (name === null) return [];
  return name === 'process' ? [['process']] : [[`node:${name}`]];
}

/** The plain name of a module that comes with Node (`fs`, `fs/promises`), or null. */
export function builtinModule(specifier: string): string | null {
  const name = specifier.replace(/^node:/, '');
  const known = specifier.startsWith('node:') || builtinModules.includes(name);
  return known ? name : null;
}

const MODULE_GLOBALS: Readonly<Record<string, readonly string[]>> = {
  'node:perf_hooks': ['performance'],
  'node:timers': ['setTimeout', 'setInterval', 'setImmediate'],
  'node:buffer': ['Buffer'],
  'node:url': ['URL'],
};

function normal(chain: Chain): Chain {
  const [first = '', second, ...rest] = chain;
  if (GLOBAL_OBJECTS.has(first) && second !== undefined) {
    return second === UNKNOWN_NAME ? ['globalThis', second, ...rest] : normal([second, ...rest]);
  }
  if (GLOBAL_OBJECTS.has(first)) return ['globalThis'];
  if (second === undefined) return chain;
  if (MODULE_GLOBALS[first]?.includes(second)) return [second, ...rest];
  return second === 'default' && first.startsWith('node:') ? normal([first, ...rest]) : chain;
}

function distinct(chains: readonly Chain[]): readonly Chain[] {
  return [...new Map(chains.map((chain) => [chain.join('\0'), chain])).values()];
}

function returnsThis(callee: NodePath & { node: { body: { body: readonly Node[] } } }): boolean {
  return callee.node.body.body.some(
    (statement) => statement.type === 'ReturnStatement' && statement.argument?.type === 'ThisExpression',
  );
}

/** `this` of a function that is called at once and without an object: the global object in sloppy code. */
function isCalledBare(path: NodePath): boolean {
  const owner = path.findParent((each) => each.isFunction() && !each.isArrowFunctionExpression());
  return owner?.parentPath?.isCallExpression() === true && owner.key === 'callee';
}
