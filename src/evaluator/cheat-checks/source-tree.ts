/** Text to syntax tree with scopes: JavaScript, JSX and TypeScript, whatever a model wrote. */
import { type ParserPlugin, parse } from '@babel/parser';
import type { Node } from '@babel/traverse';
import traverseModule, { type NodePath, type Visitor } from '@babel/traverse';

// The package is CommonJS: its default export is a property of what Node imports, and the import itself under tsx.
const traverse = typeof traverseModule === 'function' ? traverseModule : traverseModule.default;

export type ProgramPath = NodePath<Extract<Node, { type: 'Program' }>>;

const SOURCE_FILE = /\.(js|mjs|cjs|jsx|ts|mts|cts|tsx)$/i;

/** Whether the checks can read such a file at all. */
export function isCheckable(path: string): boolean {
  return SOURCE_FILE.test(path);
}

/** The program of a source, or null where it is none that can be parsed and scoped (too deeply nested counts as such). */
export function programOf(path: string, source: string): ProgramPath | null {
  for (const plugins of dialects(path)) {
    const program = attempt(path, source, plugins);
    if (program !== null) return program;
  }
  return null;
}

/** Visits a program without its types, which do nothing at run time. */
export function walk(program: ProgramPath, visitor: Visitor): void {
  program.traverse({ ...visitor, shouldSkip: (path) => isTypeOnly(path) });
}

function dialects(path: string): readonly (readonly ParserPlugin[])[] {
  if (/\.tsx$/i.test(path)) return [['typescript', 'jsx', 'decorators']];
  if (/\.[mc]?ts$/i.test(path)) {
    return [
      ['typescript', 'decorators'],
      ['typescript', 'decorators-legacy'],
    ];
  }
  return [
    ['jsx', 'decorators'],
    ['jsx', 'flow'],
  ];
}

function attempt(path: string, source: string, plugins: readonly ParserPlugin[]): ProgramPath | null {
  try {
    const file = parse(source, {
      sourceType: sourceType(path),
      plugins: [...plugins],
      errorRecovery: true,
      allowReturnOutsideFunction: true,
      allowSuperOutsideMethod: true,
      allowNewTargetOutsideFunction: true,
      allowUndeclaredExports: true,
      attachComment: false,
    });
    let program: ProgramPath | null = null;
    traverse(file, {
      Program(found) {
        program = found;
        // Only the scopes are wanted here, which the first node brings.
        found.skip();
      },
    });
    return program;
  } catch {
    // Syntax errors, doubled declarations and stacks that overflow on deep nesting end here alike.
    return null;
  }
}

function sourceType(path: string): 'module' | 'script' | 'unambiguous' {
  if (/\.m[jt]sx?$/i.test(path)) return 'module';
  return /\.c[jt]s$/i.test(path) ? 'script' : 'unambiguous';
}

const TYPE_NODES = new Set(['TypeAlias', 'OpaqueType', 'InterfaceDeclaration', 'TypeAnnotation']);
const TS_AT_RUN_TIME = new Set([
  ...['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression', 'TSTypeAssertion'],
  ...['TSInstantiationExpression', 'TSExportAssignment', 'TSImportEqualsDeclaration', 'TSParameterProperty'],
  ...['TSEnumDeclaration', 'TSEnumBody', 'TSEnumMember', 'TSModuleDeclaration', 'TSModuleBlock'],
  ...['TSExternalModuleReference', 'TSQualifiedName'],
]);

function isTypeOnly(path: NodePath): boolean {
  const { node } = path;
  if (node.type.startsWith('TS') && !TS_AT_RUN_TIME.has(node.type)) return true;
  return TYPE_NODES.has(node.type) || ('declare' in node && node.declare === true);
}
