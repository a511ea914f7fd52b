/** The words of the checks: what goes in, what a rule sees in one source, what is said about a patch. */
import type { Node } from '@babel/traverse';

/** One file of a patch. */
export interface SourceChange {
  readonly path: string;
  /** Content on the base; null for a new file. */
  readonly before: string | null;
  /** Content after the patch; null for a deleted file. */
  readonly after: string | null;
}

export interface CheatContext {
  /** Every benchmark that judges the patch, with its path in the repository. */
  readonly benchmarks: readonly { readonly path: string; readonly source: string }[];
}

export const CHEAT_RULES = [
  'benchmark-name',
  'benchmark-data',
  'special-case',
  'opaque-data',
  'environment',
  'call-stack',
  'global-patch',
  'clock',
  'module-state',
  'moved-work',
  'dynamic-code',
  'process-control',
  'module-loader',
  'shared-registry',
  'hidden-name',
  'unparsable',
] as const;

export type CheatRule = (typeof CHEAT_RULES)[number];

export interface CheatFinding {
  readonly path: string;
  /** Line in the patched file, from 1. */
  readonly line: number;
  readonly rule: CheatRule;
  /** One sentence, safe to print: what is wrong and what would be right. */
  readonly reason: string;
}

/** A construct that a rule dislikes in one source, whether the patch brought it or not. */
export interface Occurrence {
  readonly rule: CheatRule;
  readonly node: Node;
  /** Equal for equal constructs: as many of them as the base has are not the patch's. */
  readonly key: string;
  /** Whether one occurrence on the base stands for any number after the patch. */
  readonly once?: boolean;
  readonly reason: string;
}
