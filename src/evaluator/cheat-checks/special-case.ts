/** `if (input.length === 500) return 'the known answer'`: one input that gets a ready answer in place of work. */
import type { NodePath } from '@babel/traverse';
import { propertyName, withoutTypes } from './constant-text.js';

const MIN_LENGTH = 10;
const MIN_INPUT_DIGITS = 5;
const MIN_INPUT_CHARS = 12;
const MIN_ANSWER = 1000;
const MIN_ANSWER_CHARS = 8;
const MIN_ANSWER_ELEMENTS = 3;

/** What the input is compared with, where an `if`, `?:` or `case` answers it with a constant; else null. */
export function isSpecialCase(path: NodePath): string | null {
  const test = path.get('test') as NodePath;
  if (!test.node) return null;
  const compared = path.isSwitchCase() ? literalOf(test, null) : comparedIn(test);
  return compared !== null && answersOf(path).some(isAnswer) ? compared : null;
}

function comparedIn(test: NodePath): string | null {
  const bare = withoutTypes(test);
  if (bare.isLogicalExpression()) {
    return comparedIn(bare.get('left') as NodePath) ?? comparedIn(bare.get('right'));
  }
  if (!bare.isBinaryExpression() || !/^===?$/.test(bare.node.operator)) return null;
  const left = bare.get('left') as NodePath;
  const right = bare.get('right');
  return literalOf(left, right) ?? literalOf(right, left);
}

function literalOf(path: NodePath, other: NodePath | null): string | null {
  const { node } = withoutTypes(path);
  if (node.type === 'StringLiteral') return node.value.length >= MIN_INPUT_CHARS ? node.value : null;
  if (node.type !== 'NumericLiteral') return null;
  const isSize =
    other?.isMemberExpression() === true && /^(?:length|size|byteLength)$/.test(propertyName(other) ?? '');
  const least = isSize ? MIN_LENGTH : 10 ** (MIN_INPUT_DIGITS - 1);
  return node.value >= least ? String(node.value) : null;
}

function answersOf(path: NodePath): readonly NodePath[] {
  if (path.isConditionalExpression()) return [path.get('consequent')];
  const body = path.isIfStatement()
    ? [path.get('consequent') as NodePath]
    : (path.get('consequent') as NodePath[]);
  return body.flatMap((statement) => {
    const statements = statement.isBlockStatement() ? (statement.get('body') as NodePath[]) : [statement];
    return statements.flatMap((each) => (each.isReturnStatement() ? [each.get('argument') as NodePath] : []));
  });
}

function isAnswer(path: NodePath): boolean {
  if (!path.node) return false;
  const { node } = withoutTypes(path);
  if (node.type === 'StringLiteral') return node.value.length >= MIN_ANSWER_CHARS;
  if (node.type === 'NumericLiteral') return node.value >= MIN_ANSWER;
  if (node.type !== 'ArrayExpression') return false;
  const literals = node.elements.filter(
    (each) => each !== null && /^(?:String|Numeric)Literal$/.test(each.type),
  );
  return literals.length >= MIN_ANSWER_ELEMENTS;
}
