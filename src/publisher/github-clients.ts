/** What the publisher needs of GitHub's authentication: clients narrowed to one repository and one job's permissions. */
import type { Octokit } from '@octokit/rest';
import type { RepositoryRef } from '../domain/repository.js';

/** Permissions of a GitHub App by the names of GitHub's API. */
export type TokenPermissions = Readonly<
  Partial<Record<'contents' | 'issues' | 'pull_requests' | 'checks' | 'metadata', 'read' | 'write'>>
>;

/** Who our App is, as `GET /app` says; never read from a name in the settings. */
export interface AppIdentity {
  readonly id: number;
  /** The App's login is `<slug>[bot]`. */
  readonly slug: string;
}

export interface GithubClients {
  /**
   * A client whose token reaches this repository only, with these permissions only; held in memory.
   * Throws PeerError when GitHub cannot be asked, UserError when the App is not installed there.
   */
  forRepository(
    repository: RepositoryRef,
    permissions: TokenPermissions,
    signal: AbortSignal,
  ): Promise<Octokit>;
  /** The App's identity from `GET /app`; may be kept after the first answer. */
  appIdentity(signal: AbortSignal): Promise<AppIdentity>;
}
