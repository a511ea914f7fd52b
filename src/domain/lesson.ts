/** The ledger's entries: what a problem was, what was tried, what was measured, what became of it. */

export interface Lesson {
  /** Run id; one lesson per run. */
  readonly run: string;
  readonly repositoryId: string;
  readonly repository: string;
  readonly problem: string;
  readonly plan: string;
  readonly patch: string;
  readonly outcome: string;
  /** How it was validated and the measured effect, or why it failed. */
  readonly evidence: string;
  /** `open`, `merged`, `closed`, `none` (no pull request). */
  readonly fate: 'open' | 'merged' | 'closed' | 'none';
  readonly at: number;
}

export interface Ledger {
  /** Best matching lessons for a problem in words; own repository only. */
  search(query: {
    readonly repositoryId: string;
    readonly text: string;
    readonly limit: number;
  }): Promise<readonly Lesson[]>;
  /** Stores or replaces the lesson of a run. */
  remember(lesson: Lesson): Promise<void>;
  /** Notes what became of a run's pull request. False when the run has no lesson. */
  recordFate(run: string, fate: 'merged' | 'closed', at: number): Promise<boolean>;
}
