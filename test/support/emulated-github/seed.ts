// What an emulated GitHub starts with: people, organisations, the App and its installations.

/** Permission of a person on a repository, in the words of GitHub's collaborator API. */
export type CollaboratorLevel = 'pull' | 'triage' | 'push' | 'maintain' | 'admin';

export interface SeedOrganization {
  readonly login: string;
  /** Logins with the owner role: administrators of every repository of the organisation. */
  readonly admins: readonly string[];
  /** Logins with the member role: they may read every repository of the organisation. */
  readonly members?: readonly string[];
}

export interface SeedInstallation {
  readonly id: number;
  /** Login of the organisation or user that installed the App. */
  readonly account: string;
}

export interface SeedApp {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  readonly webhookSecret: string;
  readonly permissions: Readonly<Record<string, 'read' | 'write'>>;
  readonly events: readonly string[];
  readonly installations: readonly SeedInstallation[];
}

export interface EmulatedGitHubSeed {
  /** Logins of the people; each gets the token of `tokenOf`. */
  readonly users: readonly string[];
  readonly organizations: readonly SeedOrganization[];
  readonly app: SeedApp;
  /** Given to every repository of `createRepository` that does not name its own. */
  readonly collaborators: Readonly<Record<string, CollaboratorLevel>>;
}

/**
 * An organisation `acme` with the App installed and four people, named after what they may do:
 * `owner` (administrator), `writer` (push), `reader` (pull), `stranger` (nothing).
 */
export const DEFAULT_SEED: EmulatedGitHubSeed = {
  users: ['owner', 'writer', 'reader', 'stranger'],
  organizations: [{ login: 'acme', admins: ['owner'] }],
  app: {
    id: 4711,
    slug: 'hasten-rig',
    name: 'Hasten Rig',
    webhookSecret: 'rig-webhook-secret',
    permissions: {
      metadata: 'read',
      contents: 'write',
      issues: 'write',
      pull_requests: 'write',
      checks: 'write',
    },
    events: ['issues', 'issue_comment', 'pull_request'],
    installations: [{ id: 9001, account: 'acme' }],
  },
  collaborators: { writer: 'push', reader: 'pull' },
};

/** The access token of a seeded person. */
export function tokenOf(login: string): string {
  return `ghp_rig_${login}`;
}
