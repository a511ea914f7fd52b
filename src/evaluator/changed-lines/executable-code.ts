/** Reads a source by its syntax tree: where something executes, in which function, and what of the text is no code. */
import { type ParserPlugin, parse } from '@babel/parser';
import { childrenOf, isNode, type SyntaxNode } from './syntax-node.js';

/** A place in the source where something executes. */
export interface SourcePoint {
  /** From 1. */
  readonly line: number;
  /** From 0, in UTF-16 units. */
  readonly column: number;
}

export interface FunctionRange {
  readonly firstLine: number;
  readonly lastLine: number;
  /** Where it starts to execute: its first statement, or its value. */
  readonly entry: SourcePoint;
}

export interface CodePiece {
  /** The line it stands on; for a function's entry the line of its head. */
  readonly line: number;
  readonly lastLine: number;
  readonly point: SourcePoint;
  /** The innermost function that executes it; null for the module itself. */
  readonly within: FunctionRange | null;
}

export interface ExecutableCode {
  readonly pieces: readonly CodePiece[];
  readonly statements: readonly CodePiece[];
  readonly functions: readonly FunctionRange[];
  /** The source with blanks in place of comments, imports and types. */
  readonly codeText: string;
}

/** Null where the source cannot be parsed. `path` tells the language. */
export function executableCode(path: string, source: string): ExecutableCode | null {
  let tree: SyntaxNode;
  try {
    const file = parse(source, {
      sourceType: 'unambiguous',
      plugins: pluginsOf(path),
      allowReturnOutsideFunction: true,
      allowAwaitOutsideFunction: true,
      allowSuperOutsideMethod: true,
      allowUndeclaredExports: true,
      errorRecovery: true,
    });
    if (!isNode(file.program)) return null;
    tree = file.program;
    const found = { pieces: [], statements: [], functions: [], blanks: [] };
    const comments = (file.comments ?? []).map(({ start, end }) => ({ start: start ?? 0, end: end ?? 0 }));
    const collected: Collected = { ...found, blanks: comments };
    walk(tree, null, collected);
    return { ...collected, codeText: blanked(source, collected.blanks) };
  } catch {
    return null;
  }
}

function pluginsOf(path: string): ParserPlugin[] {
  const common: ParserPlugin[] = ['decorators', 'explicitResourceManagement'];
  if (/\.[cm]?ts$/i.test(path)) return [...common, 'typescript'];
  return /\.tsx$/i.test(path) ? [...common, 'typescript', 'jsx'] : [...common, 'jsx'];
}

interface Collected {
  readonly pieces: CodePiece[];
  readonly statements: CodePiece[];
  readonly functions: FunctionRange[];
  readonly blanks: { readonly start: number; readonly end: number }[];
}

const FUNCTIONS = new Set([
  ...['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'],
  ...['ObjectMethod', 'ClassMethod', 'ClassPrivateMethod'],
]);
/** Containers without an effect of their own; what is in them is looked at. */
const CONTAINERS = new Set([
  ...['Program', 'BlockStatement', 'EmptyStatement', 'ClassBody', 'TemplateElement', 'CatchClause'],
  ...['SwitchCase', 'ExportNamedDeclaration', 'ExportDefaultDeclaration', 'ExportSpecifier', 'Directive'],
  ...[
    'DirectiveLiteral',
    'Decorator',
    'TSModuleBlock',
    'TSParameterProperty',
    'TSExpressionWithTypeArguments',
  ],
  ...['TSEnumBody', 'InterpreterDirective'],
]);
/** TypeScript's nodes that make code; every other one is gone when it runs. */
const TYPESCRIPT_CODE = new Set([
  ...['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression', 'TSTypeAssertion'],
  ...['TSInstantiationExpression', 'TSEnumDeclaration', 'TSEnumBody', 'TSEnumMember', 'TSModuleDeclaration'],
  ...['TSModuleBlock', 'TSExportAssignment', 'TSParameterProperty'],
]);
const IMPORTS = new Set(['ImportDeclaration', 'TSImportEqualsDeclaration', 'ExportAllDeclaration']);

function walk(node: SyntaxNode, within: FunctionRange | null, found: Collected): void {
  if (isNoCode(node)) {
    found.blanks.push(node);
    return;
  }
  if (FUNCTIONS.has(node.type)) {
    const own = functionOf(node);
    found.functions.push(own);
    found.pieces.push({ line: own.firstLine, lastLine: own.firstLine, point: own.entry, within: own });
    for (const child of childrenOf(node)) walk(child, own, found);
    return;
  }
  if (!CONTAINERS.has(node.type)) {
    const { line, column } = node.loc.start;
    const piece = { line, lastLine: node.loc.end.line, point: { line, column }, within };
    found.pieces.push(piece);
    if (/Statement$|Declaration$/.test(node.type)) found.statements.push(piece);
  }
  for (const child of childrenOf(node)) walk(child, within, found);
}

function isNoCode(node: SyntaxNode): boolean {
  if (IMPORTS.has(node.type)) return true;
  if ('declare' in node && node.declare === true) return true;
  if ('exportKind' in node && node.exportKind === 'type') return true;
  if (node.type === 'ExportNamedDeclaration' && !('declaration' in node && isNode(node.declaration)))
    return true;
  return node.type.startsWith('TS') && !TYPESCRIPT_CODE.has(node.type);
}

function functionOf(node: SyntaxNode): FunctionRange {
  const body = 'body' in node && isNode(node.body) ? node.body : node;
  const statements = 'body' in body && Array.isArray(body.body) ? body.body : [];
  const first: unknown = statements[0];
  const { line, column } = (isNode(first) ? first : body).loc.start;
  return {
    firstLine: node.loc.start.line,
    lastLine: node.loc.end.line,
    entry: { line, column },
  };
}

/** Line ends stay, so that every line keeps its number. */
function blanked(source: string, ranges: Collected['blanks']): string {
  let text = '';
  let at = 0;
  for (const { start, end } of [...ranges].sort((a, b) => a.start - b.start)) {
    if (end <= at) continue;
    text += source.slice(at, Math.max(at, start));
    text += source.slice(Math.max(at, start), end).replace(/[^\n\r]/g, ' ');
    at = end;
  }
  return text + source.slice(at);
}
