/** Any node of a syntax tree, to be asked for its members one by one. */

export interface SyntaxNode {
  readonly type: string;
  /** Offsets in the source, UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** Lines from 1, columns from 0. */
  readonly loc: {
    readonly start: { readonly line: number; readonly column: number };
    readonly end: { readonly line: number; readonly column: number };
  };
  readonly [member: string]: unknown;
}

export function isNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    'start' in value &&
    typeof value.start === 'number' &&
    'loc' in value &&
    typeof value.loc === 'object' &&
    value.loc !== null
  );
}

/** Nodes right below, in the order of the members; comments are none. */
export function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  return Object.entries(node).flatMap(([name, value]) => {
    if (name.endsWith('Comments')) return [];
    if (Array.isArray(value)) return value.filter(isNode);
    return isNode(value) ? [value] : [];
  });
}
