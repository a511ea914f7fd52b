/** Deliveries as stored before the 202, and what reading one means after GitHub was asked again. */
import type { RepositoryRef } from './repository.js';
import type { Trigger } from './trigger.js';

export interface Delivery {
  /** `X-GitHub-Delivery`; for alerts a hash of groupKey, fingerprint, startsAt and status. */
  readonly id: string;
  readonly source: 'github' | 'alert';
  /** `issues`, `issue_comment`, `pull_request`, …; `alert` for one alert. */
  readonly event: string;
  readonly action: string | null;
  /** Repository id as text when the payload names one; bounds and fairness count by it. */
  readonly repositoryId: string | null;
  readonly installationId: number | null;
  /** The payload as JSON text, as it was signed. */
  readonly body: string;
  /** sha256 hex of event and body: an equal one inside a day is the same delivery. */
  readonly bodyHash: string;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
}

export type DeliveryReceipt =
  | { readonly outcome: 'stored' | 'duplicate' }
  /** The bound on pending deliveries is reached; nothing was stored. */
  | { readonly outcome: 'full'; readonly retryAfterSeconds: number };

/** Stores deliveries durably, many in one commit. */
export interface Inbox {
  store(delivery: Delivery): Promise<DeliveryReceipt>;
  /** Takes one token of a source's bucket; false when it is empty. Rate and burst are per source. */
  takeToken(
    source: string,
    at: number,
  ): Promise<{ readonly allowed: boolean; readonly retryAfterSeconds: number }>;
}

export type CommandName = 'approve' | 'reject' | 'cancel' | 'status';

/** A command of a person with write permission, on an issue or a pull request. */
export interface PersonCommand {
  readonly name: CommandName;
  readonly repository: RepositoryRef;
  /** Number of the issue or pull request that it was written on. */
  readonly issueNumber: number;
  readonly commentId: number;
  readonly actor: string;
  /** The words after the command, or null. */
  readonly text: string | null;
  /** Epoch milliseconds of the comment; an approval binds to the newest pause shown before it. */
  readonly createdAt: number;
}

/** What one delivery means, with everything re-read from GitHub; reading has no side effects, so a crash just reads again. */
export type Reading =
  | { readonly kind: 'ignored'; readonly reason: string }
  | { readonly kind: 'trigger'; readonly trigger: Trigger }
  | { readonly kind: 'command'; readonly command: PersonCommand }
  /** Answer with one comment, nothing else. */
  | {
      readonly kind: 'reply';
      readonly repository: RepositoryRef;
      readonly issueNumber: number;
      readonly text: string;
    }
  | {
      readonly kind: 'pull-request-ended';
      readonly repository: RepositoryRef;
      readonly pullNumber: number;
      readonly fate: 'merged' | 'closed';
      readonly by: string;
    };

/** Turns a stored delivery into its meaning: label, comment, author and permission are asked of GitHub now. Throws PeerError when GitHub cannot be asked. */
export interface DeliveryReader {
  read(delivery: Delivery, signal: AbortSignal): Promise<Reading>;
}
