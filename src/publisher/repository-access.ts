/** One repository as one job of the publisher sees it: a narrowed client, its coordinates, and who we are. */
import type { Octokit } from '@octokit/rest';
import type { RepositoryRef } from '../domain/repository.js';
import type { AppIdentity, GithubClients, TokenPermissions } from './github-clients.js';

/** GitHub's clock may differ from ours by this much when lists are narrowed by time. */
const CLOCK_SKEW_MS = 60 * 60 * 1000;

export interface RepositoryAccess {
  readonly octokit: Octokit;
  /** Spread into each REST call: coordinates and the signal. */
  readonly at: { readonly owner: string; readonly repo: string; readonly request: { signal: AbortSignal } };
  readonly app: AppIdentity;
}

/** Opens a repository with the given permissions. */
export async function openRepository(
  clients: GithubClients,
  repository: RepositoryRef,
  permissions: TokenPermissions,
  signal: AbortSignal,
): Promise<RepositoryAccess> {
  const [octokit, app] = await Promise.all([
    clients.forRepository(repository, permissions, signal),
    clients.appIdentity(signal),
  ]);
  return { octokit, app, at: { owner: repository.owner, repo: repository.name, request: { signal } } };
}

interface Author {
  readonly login: string;
  readonly type?: string;
}

/** True for what our App wrote: its bot account, and where GitHub names the App, that id. */
export function isOurs(
  app: AppIdentity,
  item: { readonly user?: Author | null; readonly performed_via_github_app?: { id?: number } | null },
): boolean {
  const via = item.performed_via_github_app;
  if (via !== undefined && via !== null && via.id !== undefined && via.id !== app.id) return false;
  return item.user?.login === `${app.slug}[bot]`;
}

/** The `since` parameter for things made after a moment of our clock. */
export function sinceOf(epochMs: number): string {
  return new Date(Math.max(0, epochMs - CLOCK_SKEW_MS)).toISOString();
}
