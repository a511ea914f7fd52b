/** Run ids: derived from what asked for the run, so that a repeat after a crash names the same branch and markers. */
import { createHash } from 'node:crypto';
import type { RunId } from '../domain/trigger.js';

/** 12 lower-case hex characters of the trigger id's sha256. */
export function runIdOf(triggerId: string): RunId {
  return createHash('sha256').update(triggerId).digest('hex').slice(0, 12);
}
