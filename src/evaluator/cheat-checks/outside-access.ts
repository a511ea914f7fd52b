/** Every place of a program that touches something from outside the file, and how it touches it. */
import type { NodePath } from '@babel/traverse';
import { propertyName, withoutTypes } from './constant-text.js';
import { type Chain, chainsOf, UNKNOWN_NAME } from './global-chain.js';
import { type ProgramPath, walk } from './source-tree.js';

export type Usage = 'read' | 'write' | 'call' | 'new' | 'typeof' | 'alias' | 'argument';

export interface Access {
  readonly chain: Chain;
  readonly usage: Usage;
  /** The expression that stands for the whole chain. */
  readonly path: NodePath;
  /** For `call`, `new` and `argument`: the call. */
  readonly call: NodePath | null;
}

/** In the order of the source. */
export function accessesOf(program: ProgramPath): readonly Access[] {
  const accesses: Access[] = [];
  const visit = (path: NodePath): void => {
    if (!isWholeChain(path)) return;
    const place = placeOf(path);
    // A name of this file that is set anew changes nothing outside, whatever stood in it before.
    if (place.usage === 'write' && path.isIdentifier() && path.scope.hasBinding(path.node.name, true)) return;
    for (const chain of chainsOf(path)) accesses.push({ chain, path, ...place });
  };
  const visitPattern = (target: NodePath, value: NodePath): void => {
    if (!target.isObjectPattern() || !value.node) return;
    for (const { keys, at } of leavesOf(target, [])) {
      for (const chain of chainsOf(value)) {
        accesses.push({ chain: [...chain, ...keys], path: at, usage: 'read', call: null });
      }
    }
  };
  walk(program, {
    MemberExpression: visit,
    OptionalMemberExpression: visit,
    MetaProperty: visit,
    CallExpression: visit,
    Identifier: (path) => {
      if (isValue(path)) visit(path);
    },
    JSXIdentifier: (path) => {
      if (path.isReferencedIdentifier() && /^[A-Z]/.test(path.node.name)) visit(path);
    },
    VariableDeclarator: (path) => visitPattern(path.get('id') as NodePath, path.get('init') as NodePath),
    AssignmentExpression: (path) => visitPattern(path.get('left') as NodePath, path.get('right')),
    AssignmentPattern: (path) => visitPattern(path.get('left') as NodePath, path.get('right')),
  });
  return accesses;
}

function isValue(path: NodePath): boolean {
  return path.isReferencedIdentifier() || isTarget(path);
}

function isTarget(path: NodePath): boolean {
  const { parentPath: parent, key } = path;
  if (parent === null) return false;
  if (parent.isAssignmentExpression() || parent.isForXStatement()) return key === 'left';
  if (parent.isUpdateExpression()) return true;
  return isInAssignedPattern(path);
}

/** A target inside `[a, b.c] = …` or `({ x: a } = …)`; never a declaration, which makes a new name. */
function isInAssignedPattern(path: NodePath): boolean {
  let inner: NodePath = path;
  for (let outer = path.parentPath; outer !== null; outer = outer.parentPath) {
    if (outer.isObjectProperty() && inner.key !== 'value') return false;
    if (outer.isAssignmentPattern() && inner.key !== 'left') return false;
    if (outer.isAssignmentExpression() || outer.isForXStatement()) return inner.key === 'left';
    const within =
      outer.isObjectPattern() ||
      outer.isArrayPattern() ||
      outer.isRestElement() ||
      outer.isObjectProperty() ||
      outer.isAssignmentPattern();
    if (!within) return false;
    inner = outer;
  }
  return false;
}

/** False for the inner parts of a longer chain, which are seen with the whole. */
function isWholeChain(path: NodePath): boolean {
  const outer = outermost(path);
  const { parentPath: parent } = outer;
  if (parent?.isMemberExpression() || parent?.isOptionalMemberExpression()) return outer.key !== 'object';
  return true;
}

function outermost(path: NodePath): NodePath {
  let outer = path;
  while (outer.parentPath !== null && withoutTypes(outer.parentPath).node !== outer.parentPath.node) {
    outer = outer.parentPath;
  }
  return outer;
}

/** Climbs further, through `a || b`, `c ? a : b` and `(x, a)`, which hand their value on as it is. */
function outermostChoice(path: NodePath): NodePath {
  let outer = outermost(path);
  for (let { parentPath: parent } = outer; parent !== null; { parentPath: parent } = outer) {
    const handsOn =
      parent.isLogicalExpression() ||
      (parent.isConditionalExpression() && outer.key !== 'test') ||
      (parent.isSequenceExpression() && outer.key === parent.node.expressions.length - 1);
    if (!handsOn) break;
    outer = outermost(parent);
  }
  return outer;
}

function placeOf(path: NodePath): Pick<Access, 'usage' | 'call'> {
  const outer = outermostChoice(path);
  const { parentPath: parent, key } = outer;
  if (parent === null) return { usage: 'read', call: null };
  if (isTarget(outer) || parent.isUnaryExpression({ operator: 'delete' }))
    return { usage: 'write', call: null };
  if (parent.isUnaryExpression({ operator: 'typeof' })) return { usage: 'typeof', call: null };
  if (parent.isNewExpression() || parent.isCallExpression() || parent.isOptionalCallExpression()) {
    if (key !== 'callee') return { usage: 'argument', call: parent };
    return { usage: parent.isNewExpression() ? 'new' : 'call', call: parent };
  }
  if (parent.isTaggedTemplateExpression() && key === 'tag') return { usage: 'call', call: null };
  if (parent.isVariableDeclarator() && key === 'init') return { usage: 'alias', call: null };
  const assigned = parent.isAssignmentExpression() && !parent.get('left').isMemberExpression();
  return { usage: assigned ? 'alias' : 'read', call: null };
}

function leavesOf(
  pattern: NodePath,
  keys: readonly string[],
): readonly { readonly keys: readonly string[]; readonly at: NodePath }[] {
  if (pattern.isAssignmentPattern()) return leavesOf(pattern.get('left') as NodePath, keys);
  if (!pattern.isObjectPattern()) return [{ keys, at: pattern }];
  return (pattern.get('properties') as NodePath[]).flatMap((property) => {
    if (!property.isObjectProperty()) return [{ keys: [...keys, UNKNOWN_NAME], at: property }];
    const name = propertyName(property) ?? UNKNOWN_NAME;
    return leavesOf(property.get('value') as NodePath, [...keys, name]);
  });
}
