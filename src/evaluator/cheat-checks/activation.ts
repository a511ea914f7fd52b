/** When code runs: once while the module loads, or at each call; and so which names outlive a call. */
import type { Binding, Node, NodePath } from '@babel/traverse';
import { propertyName } from './constant-text.js';
import { nameOf } from './global-chain.js';

/** Methods that call their argument before they return. */
const CALLS_AT_ONCE = new Set([
  ...['forEach', 'map', 'filter', 'reduce', 'reduceRight', 'some', 'every', 'find', 'findIndex', 'findLast'],
  ...[
    'findLastIndex',
    'flatMap',
    'sort',
    'toSorted',
    'from',
    'replace',
    'replaceAll',
    'fromAsync',
    'groupBy',
  ],
]);

/** The function whose call runs this code, or null for the module's own loading. Callbacks that run at once belong to what is around them. */
export function activationOf(path: NodePath): NodePath | null {
  let current = ownFunction(path);
  while (current !== null && runsInPlace(current)) current = ownFunction(current.parentPath);
  return current;
}

function ownFunction(path: NodePath | null): NodePath | null {
  return path?.findParent((each) => each.isFunction()) ?? null;
}

/** Called where it stands, before what is around it goes on. */
export function runsInPlace(owner: NodePath): boolean {
  const { parentPath: parent, key, listKey } = owner;
  if (parent === null || !isCall(parent)) return false;
  if (key === 'callee') return !isGenerator(owner);
  if (listKey !== 'arguments') return false;
  const callee = parent.get('callee') as NodePath;
  return callee.isMemberExpression() && CALLS_AT_ONCE.has(propertyName(callee) ?? '');
}

function isGenerator(owner: NodePath): boolean {
  return 'generator' in owner.node && owner.node.generator === true;
}

function isCall(path: NodePath): boolean {
  return path.isCallExpression() || path.isOptionalCallExpression() || path.isNewExpression();
}

/** Whether a name keeps its value from one call of the module's functions to the next. */
export function outlivesCalls(binding: Binding): boolean {
  return livesAsLongAsModule(homeOf(binding), new Set());
}

/** The activation that makes the variable behind a name; its own name belongs to where a function or class stands. */
export function homeOf(binding: Binding): NodePath | null {
  const { path } = binding;
  if (binding.kind === 'local') return activationOf(path);
  if (binding.kind === 'param') return settled(binding.scope.path);
  return binding.scope.path.isProgram() ? null : settled(binding.scope.path);
}

function settled(scope: NodePath): NodePath | null {
  return scope.isFunction() && !runsInPlace(scope) ? scope : activationOf(scope);
}

/** The module itself, and functions that the loading of the module calls: makers of closures, wrappers around modules. */
function livesAsLongAsModule(activation: NodePath | null, seen: Set<Node>): boolean {
  if (activation === null) return true;
  if (seen.has(activation.node)) return false;
  seen.add(activation.node);
  if (isGenerator(activation) && activation.key === 'callee') {
    return livesAsLongAsModule(activationOf(activation), seen);
  }
  if (isWrapped(activation)) return livesAsLongAsModule(activationOf(activation), seen);
  if (isCalledAtLoadAsMethod(activation)) return true;
  return callSites(activation).some((call) => livesAsLongAsModule(activationOf(call), seen));
}

/** `(function (root, factory) { … })(this, function () { … })` and `define(function () { … })`. */
function isWrapped(owner: NodePath): boolean {
  const { parentPath: parent, listKey } = owner;
  if (parent === null || listKey !== 'arguments' || !isCall(parent)) return false;
  const callee = parent.get('callee') as NodePath;
  return callee.isFunction() || callee.isIdentifier({ name: 'define' });
}

/** The calls of a function by its name. */
export function callSites(owner: NodePath): readonly NodePath[] {
  return referencesOf(owner).flatMap((each) =>
    each.parentPath !== null && isCall(each.parentPath) && each.key === 'callee' ? [each.parentPath] : [],
  );
}

/** A method that the loading module calls by name, or the constructor of a class of which it makes an instance. */
function isCalledAtLoadAsMethod(owner: NodePath): boolean {
  const member = owner.isObjectMethod() || owner.isClassMethod() ? owner : owner.parentPath;
  if (member === null) return false;
  if (member.isClassMethod({ kind: 'constructor' })) {
    const made = member.parentPath?.parentPath;
    const name = made?.isClass() === true ? made.node.id?.name : undefined;
    return name !== undefined && calledAtLoad(owner).has(`new ${name}`);
  }
  const isMember = member.isObjectMethod() || member.isClassMethod() || member.isObjectProperty();
  return isMember && calledAtLoad(owner).has(propertyName(member) ?? '');
}

const loads = new WeakMap<Node, ReadonlySet<string>>();

function calledAtLoad(path: NodePath): ReadonlySet<string> {
  const program = path.scope.getProgramParent().path;
  const known = loads.get(program.node);
  if (known !== undefined) return known;
  const names = new Set<string>();
  program.traverse({
    'CallExpression|NewExpression': (call: NodePath) => {
      const callee = call.get('callee') as NodePath;
      const isNew = call.isNewExpression() && callee.isIdentifier();
      const name = isNew
        ? `new ${callee.node.name}`
        : callee.isMemberExpression()
          ? propertyName(callee)
          : null;
      if (name !== null && activationOf(call) === null) names.add(name);
    },
  });
  loads.set(program.node, names);
  return names;
}

function referencesOf(owner: NodePath): readonly NodePath[] {
  const name = nameOf(owner);
  if (name === null) return [];
  return owner.scope.parent?.getBinding(name)?.referencePaths ?? [];
}

/** Whether a function is only ever called while the module loads, as one that fills a table. */
export function runsOnlyAtLoad(activation: NodePath | null, seen = new Set<Node>()): boolean {
  if (activation === null) return true;
  if (seen.has(activation.node)) return false;
  seen.add(activation.node);
  if (isExported(activation)) return false;
  const references = referencesOf(activation);
  const calls = callSites(activation);
  return (
    calls.length > 0 &&
    calls.length === references.length &&
    calls.every((call) => runsOnlyAtLoad(activationOf(call), seen))
  );
}

/** `export function f` or `export const f = () => …`; names in export lists count as references. */
function isExported(owner: NodePath): boolean {
  const { parentPath: parent } = owner;
  if (parent?.isExportDeclaration() === true) return true;
  return (
    parent?.isVariableDeclarator() === true && parent.parentPath?.parentPath?.isExportDeclaration() === true
  );
}
