/** Tells a scratch buffer (typed array that each call overwrites before it reads) from a table of kept results. */
import type { Binding, NodePath } from '@babel/traverse';
import { activationOf } from './activation.js';
import { withoutTypes } from './constant-text.js';

const BUFFER = /^(?:(?:Ui|I)nt(?:8|16|32)(?:Clamped)?Array|Big(?:Ui|I)nt64Array|Float(?:16|32|64)Array)$/;

/** Whether a name stands for memory of fixed size that the module allocates. */
export function isBuffer(binding: Binding): boolean {
  if (!binding.constant || !binding.path.isVariableDeclarator()) return false;
  return allocates(withoutTypes(binding.path.get('init') as NodePath));
}

/** `new Float64Array(n)`, or a call of the file's own function that only returns one. */
function allocates(value: NodePath): boolean {
  if (value.isNewExpression()) {
    const callee = value.get('callee') as NodePath;
    return callee.isIdentifier() && BUFFER.test(callee.node.name);
  }
  if (!value.isCallExpression()) return false;
  const callee = value.get('callee') as NodePath;
  const made = callee.isIdentifier() ? returnedBy(callee) : null;
  return made?.isNewExpression() === true && allocates(made);
}

function returnedBy(name: NodePath & { node: { name: string } }): NodePath | null {
  const declared = name.scope.getBinding(name.node.name)?.path;
  const owner = declared?.isVariableDeclarator() ? (declared.get('init') as NodePath) : declared;
  if (owner === undefined || !owner.isFunction()) return null;
  const body = owner.get('body') as NodePath;
  if (!body.isBlockStatement()) return body;
  const [only, ...others] = body.get('body') as NodePath[];
  return only?.isReturnStatement() === true && others.length === 0
    ? (only.get('argument') as NodePath)
    : null;
}

/**
 * Whether what was written in one call can spare work in another: an element is read before anything is written,
 * returned as it was read, or written under a condition that it decides itself. Scratch stacks and counters do neither.
 */
export function keepsResults(binding: Binding): boolean {
  return binding.referencePaths.some((reference) => {
    const element = reference.parentPath;
    if (element === null || !element.isMemberExpression() || reference.key !== 'object') return false;
    return isReadFirst(element, binding) || isReturned(element) || isWrittenWhereItDecides(element, binding);
  });
}

/** Whether a function reads before it writes anything: what it finds there is from an earlier call. */
function isReadFirst(element: NodePath, binding: Binding): boolean {
  const owner = activationOf(element);
  if (owner === null || isWritten(element)) return false;
  const writes = binding.referencePaths.flatMap(({ parentPath: other }) =>
    other !== null && isWritten(other) && activationOf(other)?.node === owner.node ? [startOf(other)] : [],
  );
  return writes.length > 0 && writes.every((write) => write > startOf(element));
}

function isWritten(element: NodePath): boolean {
  const { parentPath: parent, key } = element;
  if (parent?.isAssignmentExpression() === true && key === 'left') return true;
  // Methods (fill, set) and update expressions write as well.
  return parent?.isUpdateExpression() === true || (parent?.isCallExpression() === true && key === 'callee');
}

function startOf(path: NodePath): number {
  return path.node.start ?? 0;
}

function isReturned(element: NodePath): boolean {
  let value = element;
  while (value.parentPath !== null && passesThrough(value)) value = value.parentPath;
  const { parentPath: parent } = value;
  if (parent === null) return false;
  if (parent.isReturnStatement() || (parent.isArrowFunctionExpression() && value.key === 'body')) return true;
  if (!parent.isVariableDeclarator() && !parent.isAssignmentExpression({ operator: '=' })) return false;
  const target = parent.isVariableDeclarator() ? parent.get('id') : parent.get('left');
  if (Array.isArray(target) || !target.isIdentifier() || value.key === 'left') return false;
  const local = value.scope.getBinding(target.node.name);
  return local?.referencePaths.some((each) => each.parentPath?.isReturnStatement() === true) === true;
}

function passesThrough(value: NodePath): boolean {
  const { parentPath: parent, key } = value;
  if (parent === null) return false;
  if (parent.isConditionalExpression()) return key !== 'test';
  if (parent.isUnaryExpression()) return true;
  if (parent.isBinaryExpression())
    return (key === 'left' ? parent.get('right') : parent.get('left')).isLiteral();
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
