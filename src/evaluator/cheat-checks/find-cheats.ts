/** The checks as a pure function: a patch's sources before and after, and what in them games a benchmark. */
import { type BenchmarkFacts, benchmarkFacts, benchmarkOccurrences } from './benchmark-rules.js';
import type { CheatContext, CheatFinding, Occurrence, SourceChange } from './cheat-finding.js';
import { stateOccurrences } from './module-state.js';
import { accessesOf } from './outside-access.js';
import { outsideOccurrence } from './outside-rules.js';
import { isCheckable, type ProgramPath, programOf } from './source-tree.js';
import { syntaxOccurrences } from './syntax-rules.js';

/**
 * What the patch brings that it must not, ordered by file and line. A construct that the base has as often, in the same
 * file or (for moved code) in another file of the patch, is not the patch's. Never throws; files that are no JavaScript
 * or TypeScript are passed over (see `uncheckedPaths`), source that cannot be parsed is a finding.
 */
export function findCheats(changes: readonly SourceChange[], context: CheatContext): readonly CheatFinding[] {
  const facts = benchmarkFacts(context);
  const compared = changes.filter(({ path }) => isCheckable(path)).map((change) => compare(change, facts));
  const moved = new Budget(compared.flatMap(({ gone }) => gone));
  return compared.flatMap(({ path, brought, unparsable }) => {
    if (unparsable !== null) return [unparsable];
    const findings = brought
      .filter((occurrence) => !moved.covers(occurrence))
      .map(({ rule, node, reason }) => ({ path, line: node.loc?.start.line ?? 1, rule, reason }));
    return distinct(findings).sort((left, right) => left.line - right.line);
  });
}

/** Changed files that the checks cannot read, prose left out: the pull request should say so and be a draft. */
export function uncheckedPaths(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => !isCheckable(path) && !PROSE.test(path));
}

const PROSE = /\.(?:md|mdx|markdown|txt|rst|adoc)$|(?:^|\/)(?:licen[cs]e|changelog|readme|authors|notice)$/i;

interface Compared {
  readonly path: string;
  readonly brought: readonly Occurrence[];
  /** What only the base has. */
  readonly gone: readonly Occurrence[];
  readonly unparsable: CheatFinding | null;
}

function compare({ path, before, after }: SourceChange, facts: BenchmarkFacts): Compared {
  const old = before === null ? null : programOf(path, before);
  const existing = old === null ? [] : occurrencesOf(old, facts);
  const nothing = { path, brought: [], gone: existing, unparsable: null };
  if (after === null) return nothing;
  const program = programOf(path, after);
  if (program === null) {
    if (before !== null && old === null)
      return { ...nothing, unparsable: unparsable(path, ' (nor before it)') };
    return { ...nothing, unparsable: unparsable(path, '') };
  }
  const budget = new Budget(existing);
  const brought = occurrencesOf(program, facts).filter((occurrence) => !budget.covers(occurrence));
  return { path, brought, gone: budget.rest(), unparsable: null };
}

function unparsable(path: string, when: string): CheatFinding {
  const reason = `The file cannot be parsed after the patch${when}, so it cannot be checked.`;
  return { path, line: 1, rule: 'unparsable', reason };
}

function occurrencesOf(program: ProgramPath, facts: BenchmarkFacts): readonly Occurrence[] {
  return [
    ...accessesOf(program).flatMap((access) => outsideOccurrence(access) ?? []),
    ...syntaxOccurrences(program),
    ...stateOccurrences(program),
    ...benchmarkOccurrences(program, facts),
  ];
}

/** Occurrences of the base by key; each pays for one of the patch. */
class Budget {
  private readonly byKey = new Map<string, Occurrence[]>();

  constructor(occurrences: readonly Occurrence[]) {
    for (const occurrence of occurrences) {
      const same = this.byKey.get(occurrence.key);
      if (same === undefined) this.byKey.set(occurrence.key, [occurrence]);
      else same.push(occurrence);
    }
  }

  covers({ key, once }: Occurrence): boolean {
    const same = this.byKey.get(key);
    if (same === undefined || same.length === 0) return false;
    if (once !== true) same.pop();
    return true;
  }

  rest(): readonly Occurrence[] {
    return [...this.byKey.values()].flat();
  }
}

function distinct(findings: readonly CheatFinding[]): CheatFinding[] {
  return [...new Map(findings.map((each) => [`${each.line} ${each.rule} ${each.reason}`, each])).values()];
}
