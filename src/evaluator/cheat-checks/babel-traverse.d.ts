/**
 * What the checks use of @babel/traverse. Its own types (@types/babel__traverse) relate every kind of node to every
 * other one and cost the compiler minutes; here a child of a path is a path of any node, to be asked for its kind.
 */
declare module '@babel/traverse' {
  import type * as t from '@babel/types';

  export type Node = t.Node;

  export interface Binding {
    readonly identifier: t.Identifier;
    readonly scope: Scope;
    readonly path: NodePath;
    readonly kind: string;
    readonly constant: boolean;
    readonly referencePaths: NodePath[];
    readonly constantViolations: NodePath[];
  }

  export interface Scope {
    readonly path: NodePath;
    readonly parent: Scope;
    readonly block: t.Node;
    readonly bindings: Record<string, Binding>;
    getBinding(name: string): Binding | undefined;
    hasBinding(name: string, noGlobals?: boolean): boolean;
    getProgramParent(): Scope;
    getFunctionParent(): Scope | null;
  }

  type Child<Value> = Value extends readonly unknown[] ? NodePath[] : NodePath;

  export interface NodePath<T extends t.Node = t.Node> {
    readonly node: T;
    readonly type: string;
    readonly parent: t.Node;
    readonly parentPath: NodePath | null;
    readonly scope: Scope;
    readonly key: string | number | null;
    readonly listKey: string | undefined;
    get<Key extends keyof T & string>(key: Key): Child<T[Key]>;
    get(key: string): NodePath | NodePath[];
    find(callback: (path: NodePath) => boolean): NodePath | null;
    findParent(callback: (path: NodePath) => boolean): NodePath | null;
    getFunctionParent(): NodePath | null;
    getStatementParent(): NodePath | null;
    traverse(visitor: Visitor): void;
    skip(): void;
    stop(): void;
    isArrayExpression(options?: object): this is NodePath<t.ArrayExpression>;
    isArrayPattern(options?: object): this is NodePath<t.ArrayPattern>;
    isArrowFunctionExpression(options?: object): this is NodePath<t.ArrowFunctionExpression>;
    isAssignmentExpression(options?: object): this is NodePath<t.AssignmentExpression>;
    isAssignmentPattern(options?: object): this is NodePath<t.AssignmentPattern>;
    isAwaitExpression(options?: object): this is NodePath<t.AwaitExpression>;
    isBinaryExpression(options?: object): this is NodePath<t.BinaryExpression>;
    isBlockStatement(options?: object): this is NodePath<t.BlockStatement>;
    isCallExpression(options?: object): this is NodePath<t.CallExpression>;
    isCatchClause(options?: object): this is NodePath<t.CatchClause>;
    isClass(options?: object): this is NodePath<t.Class>;
    isClassMethod(options?: object): this is NodePath<t.ClassMethod>;
    isClassPrivateMethod(options?: object): this is NodePath<t.ClassPrivateMethod>;
    isClassProperty(options?: object): this is NodePath<t.ClassProperty>;
    isConditionalExpression(options?: object): this is NodePath<t.ConditionalExpression>;
    isDirective(options?: object): this is NodePath<t.Directive>;
    isExportDeclaration(options?: object): this is NodePath<t.ExportDeclaration>;
    isExportDefaultDeclaration(options?: object): this is NodePath<t.ExportDefaultDeclaration>;
    isExpressionStatement(options?: object): this is NodePath<t.ExpressionStatement>;
    isForOfStatement(options?: object): this is NodePath<t.ForOfStatement>;
    isForXStatement(options?: object): this is NodePath<t.ForXStatement>;
    isFunction(options?: object): this is NodePath<t.Function>;
    isFunctionDeclaration(options?: object): this is NodePath<t.FunctionDeclaration>;
    isFunctionExpression(options?: object): this is NodePath<t.FunctionExpression>;
    isIdentifier(options?: object): this is NodePath<t.Identifier>;
    isIfStatement(options?: object): this is NodePath<t.IfStatement>;
    isImport(options?: object): this is NodePath<t.Import>;
    isImportDeclaration(options?: object): this is NodePath<t.ImportDeclaration>;
    isImportDefaultSpecifier(options?: object): this is NodePath<t.ImportDefaultSpecifier>;
    isImportExpression(options?: object): this is NodePath<t.ImportExpression>;
    isImportNamespaceSpecifier(options?: object): this is NodePath<t.ImportNamespaceSpecifier>;
    isImportSpecifier(options?: object): this is NodePath<t.ImportSpecifier>;
    isJSXIdentifier(options?: object): this is NodePath<t.JSXIdentifier>;
    isLiteral(options?: object): this is NodePath<t.Literal>;
    isLogicalExpression(options?: object): this is NodePath<t.LogicalExpression>;
    isMemberExpression(options?: object): this is NodePath<t.MemberExpression>;
    isMetaProperty(options?: object): this is NodePath<t.MetaProperty>;
    isNewExpression(options?: object): this is NodePath<t.NewExpression>;
    isNumericLiteral(options?: object): this is NodePath<t.NumericLiteral>;
    isObjectExpression(options?: object): this is NodePath<t.ObjectExpression>;
    isObjectMethod(options?: object): this is NodePath<t.ObjectMethod>;
    isObjectPattern(options?: object): this is NodePath<t.ObjectPattern>;
    isObjectProperty(options?: object): this is NodePath<t.ObjectProperty>;
    isOptionalCallExpression(options?: object): this is NodePath<t.OptionalCallExpression>;
    isOptionalMemberExpression(options?: object): this is NodePath<t.OptionalMemberExpression>;
    isParenthesizedExpression(options?: object): this is NodePath<t.ParenthesizedExpression>;
    isPrivateName(options?: object): this is NodePath<t.PrivateName>;
    isProgram(options?: object): this is NodePath<t.Program>;
    isReferencedIdentifier(options?: object): this is NodePath<t.Identifier | t.JSXIdentifier>;
    isRestElement(options?: object): this is NodePath<t.RestElement>;
    isReturnStatement(options?: object): this is NodePath<t.ReturnStatement>;
    isSequenceExpression(options?: object): this is NodePath<t.SequenceExpression>;
    isStringLiteral(options?: object): this is NodePath<t.StringLiteral>;
    isSwitchCase(options?: object): this is NodePath<t.SwitchCase>;
    isTSAsExpression(options?: object): this is NodePath<t.TSAsExpression>;
    isTSExternalModuleReference(options?: object): this is NodePath<t.TSExternalModuleReference>;
    isTSImportEqualsDeclaration(options?: object): this is NodePath<t.TSImportEqualsDeclaration>;
    isTSInstantiationExpression(options?: object): this is NodePath<t.TSInstantiationExpression>;
    isTSNonNullExpression(options?: object): this is NodePath<t.TSNonNullExpression>;
    isTSSatisfiesExpression(options?: object): this is NodePath<t.TSSatisfiesExpression>;
    isTSTypeAssertion(options?: object): this is NodePath<t.TSTypeAssertion>;
    isTaggedTemplateExpression(options?: object): this is NodePath<t.TaggedTemplateExpression>;
    isTemplateLiteral(options?: object): this is NodePath<t.TemplateLiteral>;
    isThisExpression(options?: object): this is NodePath<t.ThisExpression>;
    isTypeCastExpression(options?: object): this is NodePath<t.TypeCastExpression>;
    isUnaryExpression(options?: object): this is NodePath<t.UnaryExpression>;
    isUpdateExpression(options?: object): this is NodePath<t.UpdateExpression>;
    isVariableDeclaration(options?: object): this is NodePath<t.VariableDeclaration>;
    isVariableDeclarator(options?: object): this is NodePath<t.VariableDeclarator>;
  }

  /** By kind of node, several with `|` between them; `shouldSkip` is asked before each. */
  export type Visitor = {
    readonly [Kind in t.Node['type']]?: (path: NodePath<Extract<t.Node, { type: Kind }>>) => unknown;
  } & {
    readonly [kinds: `${string}|${string}`]: (path: NodePath) => unknown;
    readonly Function?: (path: NodePath<t.Function>) => unknown;
    readonly Class?: (path: NodePath<t.Class>) => unknown;
    readonly ForXStatement?: (path: NodePath<t.ForXStatement>) => unknown;
    readonly enter?: (path: NodePath) => unknown;
    readonly shouldSkip?: (path: NodePath) => boolean;
  };

  type Traverse = (parent: t.Node, visitor: Visitor) => void;
  const traverse: Traverse | { readonly default: Traverse };
  // biome-ignore lint/style/noDefaultExport: the package has one.
  export default traverse;
}
