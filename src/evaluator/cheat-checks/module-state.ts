/** Values that live from one call to the next: what a result could be kept in, so that later calls need no work. */
import type { Binding, NodePath } from '@babel/traverse';
import { activationOf, homeOf, outlivesCalls, runsOnlyAtLoad } from './activation.js';
import type { Occurrence } from './cheat-finding.js';
import { propertyName, withoutTypes } from './constant-text.js';
import { chainsOf } from './global-chain.js';
import { isBuffer, keepsResults } from './kept-results.js';
import { type ProgramPath, walk } from './source-tree.js';
import { type Holder, holderOf } from './state-holder.js';
import { isToolOnDemand } from './tool-on-demand.js';

const CHANGING_METHODS = new Set([
  ...['set', 'add', 'push', 'unshift', 'splice', 'fill', 'copyWithin', 'put', 'store', 'enqueue', 'next'],
  ...['pop', 'shift', 'delete', 'clear', 'sort', 'reverse', 'append', 'insert', 'save', 'remember'],
]);
/** What changes an imported or unknown object for certain. */
const CHANGING_UNKNOWN = new Set(['set', 'push', 'put', 'store', 'save', 'remember']);
/** Methods of Buffer and DataView. */
const WRITES_BYTES = /^(?:write\w*|set(?:Big)?(?:Ui|I)nt\d+|setFloat\d+)$/;
const MEMOISERS =
  /^(?:memo(?:i[sz]e)?(?:d|With|r)?|fastMemoi[sz]e|memoizeOne|once|\w*[cC]ache|lru\w*|LRU\w*)$/;
const EXPANDO = /^_*(?:cached?|memo(?:i[sz]ed)?)|(?:[cC]ache|[mM]emo)$|^__/;
const SETTERS = /^(?:Object\.(?:assign|definePropert(?:y|ies))|Reflect\.(?:set|defineProperty))$/;

/** Every change of such a value from inside a call, and every empty store that is made for one. */
export function stateOccurrences(program: ProgramPath): readonly Occurrence[] {
  const found: Occurrence[] = [];
  const add = (path: NodePath, name: string, reason: string): void => {
    found.push({ rule: 'module-state', node: path.node, key: `module-state:${name}`, reason });
  };
  const write = (path: NodePath, holder: Holder | null): void => {
    if (holder === null || !isKept(path, holder)) return;
    add(path, holder.name, keptReason(holder.name));
  };
  const target = (path: NodePath): void => {
    const bare = withoutTypes(path);
    if (bare.isIdentifier() || bare.isMemberExpression()) write(bare, holderOf(bare));
    if (bare.isMemberExpression()) {
      if (isExpando(bare)) {
        const name = propertyName(bare) ?? 'symbol';
        add(bare, `.${name}`, `A result kept on the argument (.${name}) is reused by later calls.`);
      }
      return;
    }
    for (const each of partsOf(bare)) target(each);
  };
  walk(program, {
    AssignmentExpression: (path) => target(path.get('left') as NodePath),
    UpdateExpression: (path) => target(path.get('argument') as NodePath),
    ForXStatement: (path) => {
      if (!path.get('left').isVariableDeclaration()) target(path.get('left') as NodePath);
    },
    UnaryExpression: (path) => {
      if (path.node.operator === 'delete') target(path.get('argument') as NodePath);
    },
    'CallExpression|OptionalCallExpression': (path: NodePath) => {
      write(path, changedByCall(path));
      const name = memoiser(path);
      if (name !== null) add(path, `${name}()`, `${name} keeps results from one call to the next.`);
    },
    NewExpression: (path) => {
      const name = memoiser(path);
      if (name !== null) add(path, `new ${name}()`, `${name} keeps results from one call to the next.`);
      if (isHandedEmptyStore(path)) add(path, 'bound store', keptReason('An empty store'));
    },
    'ObjectExpression|ArrayExpression': (path: NodePath) => {
      if (isHandedEmptyStore(path)) add(path, 'bound store', keptReason('An empty store'));
    },
    MemberExpression: (path) => {
      const object = path.get('object') as NodePath;
      if (object.isIdentifier() && isTakenOff(path))
        add(path, object.node.name, keptReason(object.node.name));
    },
    VariableDeclarator: (path) => {
      const store = strayStore(path);
      if (store !== null) add(path, store, keptReason(store));
    },
  });
  return found;
}

function keptReason(name: string): string {
  return `${name} outlives the call and is changed inside it, so that results can be carried from one call to the next; keep such values local to the call, or fill a constant table while the module loads.`;
}

function partsOf(pattern: NodePath): readonly NodePath[] {
  if (pattern.isObjectPattern()) {
    return (pattern.get('properties') as NodePath[]).map((each) =>
      each.isObjectProperty() ? (each.get('value') as NodePath) : (each.get('argument') as NodePath),
    );
  }
  if (pattern.isArrayPattern()) return (pattern.get('elements') as NodePath[]).filter((each) => each.node);
  if (pattern.isAssignmentPattern()) return [pattern.get('left') as NodePath];
  return pattern.isRestElement() ? [pattern.get('argument') as NodePath] : [];
}

function isKept(path: NodePath, holder: Holder): boolean {
  const activation = activationOf(path);
  if (holder.binding === null) return activation !== null && !runsOnlyAtLoad(activation);
  if (!outlivesCalls(holder.binding) || activation === null) return false;
  if (activation.node === homeOf(holder.binding)?.node || runsOnlyAtLoad(activation)) return false;
  if (holder.property === 'lastIndex' || isToolOnDemand(holder.binding)) return false;
  return !isBuffer(holder.binding) || holder.property === null || keepsResults(holder.binding);
}

/** What a call changes: `cache.set(…)`, `Object.assign(cache, …)`, `Map.prototype.set.call(cache, …)`. */
function changedByCall(call: NodePath): Holder | null {
  const callee = call.get('callee') as NodePath;
  if (!callee.isMemberExpression() && !callee.isOptionalMemberExpression()) return null;
  const [first] = call.get('arguments') as NodePath[];
  const object = callee.get('object') as NodePath;
  const method = propertyName(callee);
  if (first !== undefined && isNamed(callee, SETTERS)) return holderOf(first);
  if (first !== undefined && (method === 'call' || method === 'apply') && object.isMemberExpression()) {
    return CHANGING_METHODS.has(propertyName(object) ?? '') ? holderOf(first) : null;
  }
  const holder = holderOf(object);
  if (holder === null || method === null) return null;
  const methods = isOwn(holder.binding) ? CHANGING_METHODS : CHANGING_UNKNOWN;
  const writesBytes = WRITES_BYTES.test(method) && isMemory(holder.binding);
  return writesBytes || methods.has(method) ? { ...holder, property: holder.property ?? method } : null;
}

function isNamed(path: NodePath, pattern: RegExp): boolean {
  return chainsOf(path).some((chain) => pattern.test(chain.join('.')));
}

function isOwn(binding: Binding | null): boolean {
  if (binding === null || !binding.path.isVariableDeclarator()) return binding?.path.isClass() === true;
  const init = withoutTypes(binding.path.get('init') as NodePath);
  return !init.isCallExpression() || !init.get('callee').isIdentifier({ name: 'require' });
}

function isMemory(binding: Binding | null): boolean {
  const init = binding?.path.isVariableDeclarator() ? (binding.path.get('init') as NodePath) : null;
  if (init?.isNewExpression() !== true && init?.isCallExpression() !== true) return false;
  return isNamed(init.get('callee') as NodePath, /^(?:DataView|Buffer\.\w+)$/);
}

/** `cache.set.bind(cache)`, `const put = cache.set`: a method that changes a store, taken off to be called unseen. */
function isTakenOff(member: NodePath): boolean {
  const { parentPath: parent, key } = member;
  if (parent === null || !CHANGING_METHODS.has(propertyName(member) ?? '') || key === 'callee') return false;
  if (parent.isMemberExpression() && propertyName(parent) !== 'bind') return false;
  const object = member.get('object') as NodePath;
  const binding = object.isIdentifier() ? object.scope.getBinding(object.node.name) : undefined;
  if (binding === undefined || !binding.path.isVariableDeclarator() || !outlivesCalls(binding)) return false;
  const init = binding.path.get('init') as NodePath;
  return init.isArrayExpression() || isEmptyStore(init);
}

/** Symbols and telling names as properties of a parameter. */
function isExpando(path: NodePath): boolean {
  const object = path.get('object') as NodePath;
  if (!object.isIdentifier()) return false;
  const binding = object.scope.getBinding(object.node.name);
  if (binding?.kind !== 'param') return false;
  const property = path.get('property') as NodePath;
  if (path.node !== null && 'computed' in path.node && path.node.computed === true) {
    return isSymbol(property) || EXPANDO.test(propertyName(path) ?? '');
  }
  return EXPANDO.test(propertyName(path) ?? '');
}

function isSymbol(path: NodePath): boolean {
  if (!path.isIdentifier()) return false;
  const binding = path.scope.getBinding(path.node.name);
  if (binding === undefined || !binding.path.isVariableDeclarator()) return false;
  const init = binding.path.get('init') as NodePath;
  return init.isCallExpression() && isNamed(init.get('callee') as NodePath, /^Symbol(?:\.for)?$/);
}

/** The name of a helper that memoises, where it is called while the module loads. */
function memoiser(call: NodePath): string | null {
  if (!runsOnlyAtLoad(activationOf(call))) return null;
  const callee = call.get('callee') as NodePath;
  if (callee.isMemberExpression() && callee.get('object').isIdentifier({ name: 'React' })) return null;
  const name = callee.isIdentifier()
    ? callee.node.name
    : callee.isMemberExpression()
      ? propertyName(callee)
      : null;
  return name !== null && MEMOISERS.test(name) ? name : null;
}

const STORE = /^(?:Map|WeakMap|Set|WeakSet)$/;

function isEmptyStore(path: NodePath): boolean {
  const bare = withoutTypes(path);
  if (!bare.isNewExpression()) return false;
  const callee = bare.get('callee') as NodePath;
  return callee.isIdentifier() && STORE.test(callee.node.name) && bare.node.arguments.length === 0;
}

/** `f.bind(null, new Map())` and `wrap(new Map())` while the module loads. */
function isHandedEmptyStore(path: NodePath): boolean {
  const { parentPath: parent, listKey } = path;
  if (listKey !== 'arguments' || parent === null || !runsOnlyAtLoad(activationOf(path))) return false;
  const callee = parent.get('callee') as NodePath;
  if (isEmptyStore(path)) return !isNamed(callee, /^Object\.freeze$/);
  const isBind = callee.isMemberExpression() && propertyName(callee) === 'bind';
  const first = (parent.get('arguments') as NodePath[])[0];
  if (!isBind || first?.node === path.node) return false;
  return path.isArrayExpression()
    ? path.node.elements.length === 0
    : path.isObjectExpression() && path.node.properties.length === 0;
}

/** An empty store of the module that is handed to code that the checks do not follow. */
function strayStore(declarator: NodePath): string | null {
  if (!isEmptyStore(declarator.get('init') as NodePath)) return null;
  const id = declarator.get('id') as NodePath;
  if (!id.isIdentifier()) return null;
  const binding = declarator.scope.getBinding(id.node.name);
  if (binding === undefined || !outlivesCalls(binding)) return null;
  return binding.referencePaths.some((each) => isHandedOn(each)) ? id.node.name : null;
}

function isHandedOn(reference: NodePath): boolean {
  const { parentPath: parent, listKey } = reference;
  if (parent === null || runsOnlyAtLoad(activationOf(reference))) return false;
  return listKey === 'arguments' || parent.isReturnStatement() || parent.isArrowFunctionExpression();
}
