/** Hashes that make deliveries recognisable: equal bodies, and one alert sent several times. */
import { createHash } from 'node:crypto';

/** sha256 hex of parts; JSON keeps their borders apart. */
export function hashOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
