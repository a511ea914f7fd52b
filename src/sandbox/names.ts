/** Names and labels of everything that this adapter makes in the engine: deterministic, and told apart by owner. */
import { createHash } from 'node:crypto';

/** On everything; the image carries the same key with its own content hash. */
export const KIND_LABEL = 'hasten.sandbox';
export const OWNER_LABEL = 'hasten.owner';
export const RUN_LABEL = 'hasten.run';
/** Epoch milliseconds after which anybody may remove the container. */
export const DEADLINE_LABEL = 'hasten.deadline';
/** Random text of one filling of a volume; the host remembers which filling was finished. */
export const FILL_LABEL = 'hasten.fill';

export type ThingKind =
  | 'command'
  | 'arm'
  | 'file-drop'
  | 'tree'
  | 'dependencies'
  | 'layer'
  | 'workspace'
  | 'probe';

export interface Naming {
  /** Name of a container: owner, run, what it does and a count. */
  container(run: string, what: string, count: number): string;
  /** Name of a volume from everything that decides its content. */
  volume(kind: ThingKind, ...identity: readonly string[]): string;
  labels(kind: ThingKind, run: string | null): Record<string, string>;
}

/** `owner`: id of this installation of Hasten; two of them may share one engine. */
export function createNaming(owner: string): Naming {
  const mark = shortHash(owner, 8);
  return {
    container: (run, what, count) => dockerName(`hasten-${mark}-${run}-${what}-${count}`),
    volume: (kind, ...identity) => `hasten-${mark}-${kind}-${shortHash(JSON.stringify(identity), 24)}`,
    labels: (kind, run) => ({
      [KIND_LABEL]: kind,
      [OWNER_LABEL]: owner,
      ...(run === null ? {} : { [RUN_LABEL]: run }),
    }),
  };
}

/** Docker takes letters, digits, `_`, `.` and `-`; idempotency keys hold `:` as well. */
export function dockerName(text: string): string {
  return text.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 120);
}

function shortHash(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}
