/** What a comparison found, for all three ways of showing it. */
import type { Measurement, Verdict } from '../domain/evaluation.js';

export interface ComparedSide {
  /** As the user named it. */
  readonly given: string;
  /** What it turned out to be: a commit, a folder with the digest of its files, a package with its exact version. */
  readonly identity: string;
}

export interface Comparison {
  readonly verdict: Verdict;
  /** One sentence. */
  readonly reason: string;
  readonly base: ComparedSide;
  readonly head: ComparedSide;
  readonly benchmark: {
    readonly kind: 'module' | 'command' | 'report';
    /** Path of the module, or the command. */
    readonly name: string;
    /** Module under test; null where the kind has none. */
    readonly entry: string | null;
  };
  readonly place: 'sandbox' | 'host';
  /** What `--seed` takes to get the same order again. */
  readonly seed: string;
  readonly output: 'same' | 'different' | 'not compared';
  readonly measurement: Measurement;
  /** The second measurement, where one was asked for and made. */
  readonly confirmation: Measurement | null;
}

const EXIT_CODES: Readonly<Record<Verdict, number>> = {
  faster: 0,
  slower: 1,
  'no-change': 2,
  inconclusive: 3,
};
export const ERROR_EXIT_CODE = 4;

export function exitCodeOf(verdict: Verdict): number {
  return EXIT_CODES[verdict];
}
