/** What is compared: each side is a commit of some repository, whether it was a revision, a folder or a package. */
import type { RepositoryRef } from '../domain/repository.js';

export interface Subject {
  /** As the user named it. */
  readonly given: string;
  /** What it turned out to be. */
  readonly identity: string;
  readonly repository: RepositoryRef;
  /** 40 hex. */
  readonly commit: string;
  /** Folder that holds its files, where a benchmark file may lie; null for a package. */
  readonly root: string | null;
  /** Name of the published package; null for the other kinds. */
  readonly packageName: string | null;
}

export interface SubjectPlaces {
  /** Folder that relative paths start from, absolute. */
  readonly cwd: string;
  /** `--repo`. */
  readonly repo: string;
  /** Scratch folder of this comparison, absolute. */
  readonly temporary: string;
  /** Null: the registry that npm is configured for. */
  readonly registryUrl: string | null;
  readonly signal: AbortSignal;
}
