/** Which source a token belongs to, and which repository an alert means. Pure. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type AlertSource, listedRepository } from '../config/alert-sources.js';
import type { Alert } from './alert-payload.js';

/** The label of an alert that names its repository. */
export const REPOSITORY_LABEL = 'hasten_repo';

/** The source that an Authorization header belongs to, or null; takes as long whichever it is. */
export function authenticateSource(
  sources: readonly AlertSource[],
  authorization: string | undefined,
): AlertSource | null {
  const given = digest(/^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '');
  let found: AlertSource | null = null;
  for (const source of sources) {
    if (timingSafeEqual(digest(source.token), given)) found = source;
  }
  return found;
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

export type AlertTarget =
  | { readonly kind: 'repository'; readonly repository: string }
  /** The label names a repository that the source may not name. */
  | { readonly kind: 'forbidden'; readonly named: string }
  | { readonly kind: 'unnamed' };

/** The label decides; without it, the first route whose labels all match. */
export function targetOf(source: AlertSource, alert: Alert): AlertTarget {
  const named = alert.labels[REPOSITORY_LABEL];
  if (named !== undefined && named !== '') {
    const repository = listedRepository(source, named);
    return repository === null ? { kind: 'forbidden', named } : { kind: 'repository', repository };
  }
  const route = source.routes.find(({ match }) =>
    Object.entries(match).every(([label, value]) => alert.labels[label] === value),
  );
  return route === undefined ? { kind: 'unnamed' } : { kind: 'repository', repository: route.repository };
}
