/** Port to tokens: minted for one repository and one station's permissions, held in memory only. */
import type { RepositoryRef } from './repository.js';

export interface CloneCredentials {
  /** Value for git's password, or null for repositories that need none (local use). Reading permission on contents only. */
  tokenFor(repository: RepositoryRef, signal: AbortSignal): Promise<string | null>;
}
