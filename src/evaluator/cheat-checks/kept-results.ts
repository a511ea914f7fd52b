/** Tells a scratch buffer (typed array that each call overwrites before it reads) from a table of kept results. */
import type { Binding, NodePath } from '@babel/traverse';
import { withoutTypes } from './constant-text.js';
import { chainsOf } from './global-chain.js';

const BUFFER =
  /^(?:(?:Ui|I)nt(?:8|16|32)(?:Clamped)?Array|Big(?:Ui|I)nt64Array|Float(?:16|32|64)Array|ArrayBuffer|DataView)$/;

/** Whether a name stands for memory of fixed size that the module allocates. */
export function isBuffer(binding: Binding): boolean {
  if (!binding.constant || !binding.path.isVariableDeclarator()) return false;
  const init = withoutTypes(binding.path.get('init') as NodePath);
  if (init.isNewExpression()) {
    const callee = init.get('callee') as NodePath;
    return callee.isIdentifier() && BUFFER.test(callee.node.name);
  }
  if (!init.isCallExpression()) return false;
  return chainsOf(init.get('callee') as NodePath).some((chain) => /^Buffer\.alloc/.test(chain.join('.')));
}

/**
 * Whether what was written in one call can spare work in another: an element is returned as it was read, or an element
 * is written under a condition that the same element decides. Scratch stacks and counters do neither.
 */
export function keepsResults(binding: Binding): boolean {
  return binding.referencePaths.some((reference) => {
    const element = reference.parentPath;
    if (element === null || !element.isMemberExpression() || reference.key !== 'object') return false;
    return isReturned(element) || isWrittenWhereItDecides(element, binding);
  });
}

function isReturned(element: NodePath): boolean {
  let value = element;
  while (value.parentPath !== null && passesThrough(value)) value = value.parentPath;
  const { parentPath: parent } = value;
  if (parent === null) return false;
  if (parent.isReturnStatement() || (parent.isArrowFunctionExpression() && value.key === 'body')) return true;
  if (!parent.isVariableDeclarator() && !parent.isAssignmentExpression()) return false;
  const target = parent.isVariableDeclarator() ? parent.get('id') : parent.get('left');
  if (Array.isArray(target) || !target.isIdentifier() || value.key === 'left') return false;
  const local = value.scope.getBinding(target.node.name);
  return local?.referencePaths.some((each) => each.parentPath?.isReturnStatement() === true) === true;
}

function passesThrough(value: NodePath): boolean {
  const { parentPath: parent, key } = value;
  if (parent === null) return false;
  if (parent.isConditionalExpression()) return key !== 'test';
  if (parent.isSequenceExpression()) return true;
  return parent.isLogicalExpression() || withoutTypes(parent).node !== parent.node;
}

function isWrittenWhereItDecides(element: NodePath, binding: Binding): boolean {
  const { parentPath: parent } = element;
  if (parent === null || !parent.isAssignmentExpression() || element.key !== 'left') return false;
  if (/^(?:\?\?|\|\||&&)=$/.test(parent.node.operator)) return true;
  const text = element.toString();
  for (let inner: NodePath = parent; inner.parentPath !== null; inner = inner.parentPath) {
    const outer = inner.parentPath;
    if (outer.isFunction()) return false;
    const test =
      outer.isIfStatement() || outer.isConditionalExpression()
        ? (outer.get('test') as NodePath)
        : outer.isLogicalExpression()
          ? (outer.get('left') as NodePath)
          : null;
    if (test !== null && test.node !== inner.node && readsElement(test, text, binding)) return true;
  }
  return false;
}

function readsElement(test: NodePath, text: string, binding: Binding): boolean {
  let reads = false;
  const look = (path: NodePath): void => {
    if (path.isMemberExpression() && path.toString() === text) reads = true;
    if (!path.isIdentifier()) return;
    const local = path.scope.getBinding(path.node.name);
    if (local === undefined || local === binding || !local.path.isVariableDeclarator()) return;
    const init = local.path.get('init') as NodePath;
    if (init.node && init.isMemberExpression() && init.toString() === text) reads = true;
  };
  look(test);
  test.traverse({ enter: look });
  return reads;
}
