/** `segmenter ??= new Intl.Segmenter()`: a tool that is made once, when it is needed first, and knows no input. */
import type { Binding, NodePath } from '@babel/traverse';
import { constantText } from './constant-text.js';
import { chainsOf } from './global-chain.js';

const TOOL = /^(?:Intl\.\w+|TextEncoder|TextDecoder)$/;

/**
 * Whether a variable holds such a tool and nothing else. It may only be set by `??=` and otherwise only be called on:
 * whatever asked whether it is set could tell the first call from the others.
 */
export function isToolOnDemand(binding: Binding): boolean {
  const [assignment, ...others] = binding.constantViolations;
  if (assignment === undefined || others.length > 0 || !binding.path.isVariableDeclarator()) return false;
  if (binding.path.node.init != null || !assignment.isAssignmentExpression({ operator: '??=' })) return false;
  const made = assignment.get('right');
  if (!made.isNewExpression() || !assignment.parentPath?.isExpressionStatement()) return false;
  const isTool = chainsOf(made.get('callee')).some((chain) => TOOL.test(chain.join('.')));
  const knowsNoInput = (made.get('arguments') as NodePath[]).every((each) => constantText(each) !== null);
  return isTool && knowsNoInput && binding.referencePaths.every(isCalledOn);
}

function isCalledOn(reference: NodePath): boolean {
  const { parentPath: member } = reference;
  if (member === null || !member.isMemberExpression() || reference.key !== 'object') {
    return member?.isAssignmentExpression({ operator: '??=' }) === true;
  }
  return member.parentPath?.isCallExpression() === true && member.key === 'callee';
}
