/** What asks for a run, pinned at the moment of asking: later edits at GitHub change nothing. */
import type { RepositoryRef } from './repository.js';

export type TriggerSource = 'issue-label' | 'command' | 'alert' | 'local';

export interface Trigger {
  /** Deterministic: derived from the delivery, so that a repeat is the same trigger. */
  readonly id: string;
  readonly source: TriggerSource;
  readonly repository: RepositoryRef;
  /** Issue that carries the status comment; null for alerts (a tracking issue is opened) and local use. */
  readonly issueNumber: number | null;
  /** The problem in words, as written at that moment. */
  readonly title: string;
  readonly body: string;
  /** Extra words of the person who asked. */
  readonly hint: string | null;
  /** Login of who asked; `alert:<source>` for alerts. */
  readonly actor: string;
  /** True when text by somebody without write permission is among title and body. */
  readonly outsideText: boolean;
  /** Head commit (40 hex) of the default branch at that moment. */
  readonly baseCommit: string;
  /** Epoch milliseconds. */
  readonly requestedAt: number;
  /** Equal keys collapse while one of them waits or runs (for example `issue:12`, `alert:<fingerprint>`). */
  readonly collapseKey: string;
}

/** Run ids name branches, containers and markers: 12 lower-case characters, derived from the trigger id by the engine. */
export type RunId = string;

export type RunOutcome = 'pull-request' | 'nothing-to-gain' | 'failed' | 'rejected' | 'expired' | 'cancelled';
export type PauseReason = 'cycle' | 'budget' | 'approval';
