/** Which long-lived thing an expression belongs to: `cache`, `cache.byName`, a local alias of it, `this` of a singleton. */
import type { Binding, NodePath } from '@babel/traverse';
import { activationOf, callSites, outlivesCalls, runsInPlace, runsOnlyAtLoad } from './activation.js';
import { propertyName, withoutTypes } from './constant-text.js';

export interface Holder {
  /** As people would call it. */
  readonly name: string;
  /** Null for the module's exports and the like, which live as long as the module. */
  readonly binding: Binding | null;
  /** First property below the holder that is meant; null for the holder itself. */
  readonly property: string | null;
}

const MAX_DEPTH = 50;
const RETURNS_ITS_ARGUMENT = new Set(['assign', 'freeze', 'seal', 'preventExtensions', 'defineProperty']);
const GETTERS = new Set(['get', 'at', 'getOrInsert', 'getOrInsertComputed', 'valueOf', 'deref']);

/** The holder behind an expression or an assignment's target; null where it is local to a call or unknown. */
export function holderOf(path: NodePath, depth = 0): Holder | null {
  if (depth > MAX_DEPTH || !path.node) return null;
  const bare = withoutTypes(path);
  if (bare.isIdentifier()) return ofName(bare, depth);
  if (bare.isMemberExpression() || bare.isOptionalMemberExpression()) return ofMember(bare, depth);
  if (bare.isThisExpression()) return ofThis(bare);
  if (bare.isMetaProperty()) return { name: 'import.meta', binding: null, property: null };
  if (bare.isCallExpression()) return ofCall(bare, depth);
  if (bare.isAssignmentExpression()) {
    return holderOf(bare.get('left') as NodePath, depth + 1) ?? holderOf(bare.get('right'), depth + 1);
  }
  if (bare.isLogicalExpression()) {
    return holderOf(bare.get('left') as NodePath, depth + 1) ?? holderOf(bare.get('right'), depth + 1);
  }
  if (bare.isConditionalExpression()) {
    return holderOf(bare.get('consequent'), depth + 1) ?? holderOf(bare.get('alternate'), depth + 1);
  }
  return null;
}

function ofName(path: NodePath & { node: { name: string } }, depth: number): Holder | null {
  const { name } = path.node;
  const binding = path.scope.getBinding(name);
  if (binding === undefined) {
    return name === 'exports' || name === 'module' ? { name, binding: null, property: null } : null;
  }
  if (outlivesCalls(binding)) return { name, binding, property: null };
  const isTarget = path.parentPath?.isAssignmentExpression() === true && path.key === 'left';
  if (isTarget || path.parentPath?.isUpdateExpression() === true) return null;
  const known = aliases.get(binding);
  if (known !== undefined) return known;
  aliases.set(binding, null);
  for (const source of sourcesOf(binding)) {
    const aliased = holderOf(source, depth + 1);
    if (aliased === null) continue;
    const holder = { ...aliased, property: aliased.property ?? '' };
    aliases.set(binding, holder);
    return holder;
  }
  return null;
}

/** By local name: each is followed once, also where functions call themselves with it. */
const aliases = new WeakMap<Binding, Holder | null>();

/** Where the value of a local name may come from: its initialiser, the list it runs over, its default, its callers. */
function sourcesOf(binding: Binding): readonly NodePath[] {
  const { path } = binding;
  if (path.isVariableDeclarator()) {
    const loop = path.parentPath?.parentPath;
    const isLoop = loop?.isForOfStatement() === true && path.parentPath?.key === 'left';
    return [isLoop ? loop.get('right') : (path.get('init') as NodePath)];
  }
  const owner = binding.scope.path;
  if (binding.kind !== 'param' || !owner.isFunction()) return [];
  const parameters = owner.get('params') as NodePath[];
  const index = parameters.findIndex((each) => each.node === path.node);
  const parameter = parameters[index];
  const standard = parameter?.isAssignmentPattern() === true ? [parameter.get('right')] : [];
  const target = standard.length > 0 ? (parameter?.get('left') as NodePath) : parameter;
  if (target?.isIdentifier() !== true) return [];
  const passed = callSites(owner).flatMap((call) => {
    const value = (call.get('arguments') as NodePath[])[index];
    return value === undefined || runsOnlyAtLoad(activationOf(call)) ? [] : [value];
  });
  return [...standard, ...passed, ...(index === 0 ? listGivenTo(owner) : [])];
}

function listGivenTo(owner: NodePath): readonly NodePath[] {
  const { parentPath: call } = owner;
  if (call?.isCallExpression() !== true || !runsInPlace(owner) || owner.key === 'callee') return [];
  const callee = call.get('callee') as NodePath;
  return callee.isMemberExpression() && !/^reduce/.test(propertyName(callee) ?? '')
    ? [callee.get('object')]
    : [];
}

function ofMember(path: NodePath, depth: number): Holder | null {
  const object = path.get('object') as NodePath;
  const inner = withoutTypes(object);
  const holder = holderOf(object, depth + 1);
  if (holder === null) return null;
  const property = holder.property ?? propertyName(path) ?? '?';
  // An instance's own fields are its users' business; only what hangs below them can be a store for results.
  if (inner.isThisExpression() && holder.name.startsWith('this of ') && holder.property === null) {
    return path.parentPath?.isMemberExpression() || path.parentPath?.isCallExpression()
      ? { ...holder, name: `${holder.name}.${property}`, property }
      : null;
  }
  return { ...holder, property };
}

function ofCall(call: NodePath, depth: number): Holder | null {
  const callee = call.get('callee') as NodePath;
  if (callee.isIdentifier({ name: 'require' }))
    return { name: call.toString(), binding: null, property: null };
  if (!callee.isMemberExpression()) return null;
  const [first] = call.get('arguments') as NodePath[];
  const method = propertyName(callee) ?? '';
  if (first !== undefined && callee.get('object').isIdentifier({ name: 'Object' })) {
    return RETURNS_ITS_ARGUMENT.has(method) ? holderOf(first, depth + 1) : null;
  }
  return GETTERS.has(method) ? holderOf(callee.get('object'), depth + 1) : null;
}

/** `this` in a method of an object of the module, in a static method, or in a class of which the module keeps an instance. */
function ofThis(path: NodePath): Holder | null {
  const owner = path.findParent(
    (each) => (each.isFunction() && !each.isArrowFunctionExpression()) || each.isClassProperty(),
  );
  if (owner === null) return null;
  const ofClass = owner.isClassMethod() || owner.isClassPrivateMethod() || owner.isClassProperty();
  if (ofClass) return ofClassThis(owner);
  const property = owner.isObjectMethod() ? owner : owner.parentPath;
  if (property === null || !(property.isObjectMethod() || property.isObjectProperty())) return null;
  const literal = property.parentPath;
  const declarator = literal?.parentPath;
  if (declarator?.isVariableDeclarator() === true && declarator.node.id.type === 'Identifier') {
    const { name } = declarator.node.id;
    const binding = declarator.scope.getBinding(name);
    return binding !== undefined && outlivesCalls(binding) ? { name, binding, property: null } : null;
  }
  const isExport = declarator?.isExportDefaultDeclaration() || declarator?.isAssignmentExpression();
  return isExport === true && activationOf(declarator as NodePath) === null
    ? { name: 'the exported object', binding: null, property: null }
    : null;
}

function ofClassThis(member: NodePath): Holder | null {
  const owner = member.parentPath?.parentPath;
  if (owner == null || !owner.isClass()) return null;
  const name = owner.node.id?.name ?? classNameOf(owner) ?? 'class';
  const binding = owner.scope.parent?.getBinding(name) ?? owner.scope.getBinding(name) ?? null;
  const isLong = binding === null || outlivesCalls(binding);
  if ('static' in member.node && member.node.static === true) {
    return isLong ? { name, binding, property: null } : null;
  }
  const isConstructor = member.isClassMethod({ kind: 'constructor' });
  if (isConstructor || binding === null || !isLong) return null;
  const kept = binding.referencePaths.some(
    (each) =>
      each.parentPath?.isNewExpression() === true &&
      each.key === 'callee' &&
      runsOnlyAtLoad(activationOf(each)),
  );
  return kept ? { name: `this of ${name}`, binding, property: null } : null;
}

function classNameOf(owner: NodePath): string | null {
  const { parentPath: parent } = owner;
  if (parent?.isVariableDeclarator() !== true) return null;
  return parent.node.id.type === 'Identifier' ? parent.node.id.name : null;
}
