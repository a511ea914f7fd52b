/** Reads one pending delivery and applies what it means; a peer that fails postpones it, anything else ends it. */
import type { DeliveryReader } from '../domain/delivery.js';
import { HastenError, PeerError, storedError } from '../domain/errors.js';
import type { Log } from '../domain/log.js';
import type { Database } from '../store/database.js';
import type { Applied, Deadlines } from './apply-event.js';
import { applyReading } from './apply-reading.js';
import { closeDelivery, type PendingDelivery, postponeDelivery, waitWithDelivery } from './deliveries.js';
import type { Leases } from './leases.js';

const MOST_ATTEMPTS = 12;
/** Of failures that are nobody's word, such as a full disk: GitHub will not send the event again. */
const MOST_UNEXPECTED_ATTEMPTS = 6;
const FIRST_DELAY_MS = 2000;
const LONGEST_DELAY_MS = 5 * 60 * 1000;
/** How long a repository that another process holds is left to it. */
const HELD_ELSEWHERE_MS = 5000;

export interface Handling {
  readonly database: Database;
  readonly reader: DeliveryReader;
  readonly leases: Leases;
  readonly deadlines: Deadlines;
  readonly log: Log;
  readonly now: () => number;
  readonly random: () => number;
}

/** Returns the transitions that the delivery caused. */
export async function handleDelivery(
  handling: Handling,
  delivery: PendingDelivery,
  signal: AbortSignal,
): Promise<readonly Applied[]> {
  try {
    return await readAndApply(handling, delivery, signal);
  } catch (error) {
    if (!signal.aborted) await postponeOrEnd(handling, delivery, error);
    return [];
  }
}

async function readAndApply(
  { database, reader, leases, deadlines, log, now }: Handling,
  delivery: PendingDelivery,
  signal: AbortSignal,
): Promise<readonly Applied[]> {
  const reading = await reader.read(delivery, signal);
  const note = reading.kind === 'ignored' ? reading.reason : reading.kind;
  const transitions = await database.tx(async (tx) => {
    const applied = await applyReading({ tx, leases, deadlines, at: now() }, delivery, reading);
    if (applied === null) {
      await waitWithDelivery(tx, delivery.id, now() + HELD_ELSEWHERE_MS);
      return null;
    }
    await closeDelivery(tx, delivery.id, reading.kind === 'ignored' ? 'ignored' : 'applied', note);
    return applied;
  });
  if (transitions === null) return [];
  log.info(
    { delivery: delivery.id, event: delivery.event, action: delivery.action, reading: reading.kind },
    `Delivery read: ${note}`,
  );
  return transitions;
}

async function postponeOrEnd(
  { database, log, now, random }: Handling,
  delivery: PendingDelivery,
  error: unknown,
): Promise<void> {
  const stored = storedError(error);
  const final = delivery.attempt + 1 >= mostAttempts(error);
  log[final ? 'error' : 'warn'](
    { delivery: delivery.id, error: stored },
    `Reading a delivery failed: ${stored.message}`,
  );
  const backoffMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** delivery.attempt) * (0.5 + random() / 2);
  const askedMs = error instanceof PeerError ? (error.retryAfterMs ?? 0) : 0;
  const dueAt = Math.round(now() + Math.max(backoffMs, askedMs));
  await database.tx((tx) =>
    final
      ? closeDelivery(tx, delivery.id, 'dead', stored.message)
      : postponeDelivery(tx, delivery.id, dueAt, stored.message),
  );
}

function mostAttempts(error: unknown): number {
  if (!(error instanceof HastenError)) return MOST_UNEXPECTED_ATTEMPTS;
  return error.retryable ? MOST_ATTEMPTS : 1;
}
