import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BudgetError, BugError, PeerError, UserError } from '../../src/domain/errors.js';
import { retryAfter } from '../../src/engine/retry-policy.js';

const peer = (retryAfterMs: number | null = null, code = 'GITHUB_DOWN') =>
  new PeerError({ code, message: 'x', retryAfterMs });

describe('retrying an effect', () => {
  it('never repeats what a person or Hasten itself has to mend', () => {
    for (const error of [
      new UserError({ code: 'A', message: 'x' }),
      new BugError({ code: 'B', message: 'x' }),
      new BudgetError({ code: 'C', message: 'x', limit: 'run', limitUsd: 1, usedUsd: 1 }),
      new PeerError({ code: 'D', message: 'x', retryable: false }),
      new Error('not of the tree'),
    ]) {
      expect(retryAfter(error, 'tell', 0, 0)).toEqual({ again: false });
    }
  });

  it('gives up work after four failures and telling after ten', () => {
    expect(retryAfter(peer(), 'work', 2, 0)).toMatchObject({ again: true });
    expect(retryAfter(peer(), 'work', 3, 0)).toEqual({ again: false });
    expect(retryAfter(peer(), 'tell', 8, 0)).toMatchObject({ again: true });
    expect(retryAfter(peer(), 'tell', 9, 0)).toEqual({ again: false });
  });

  it('waits for a missing engine and for the pace of pull requests, however often', () => {
    expect(retryAfter(peer(null, 'DOCKER_UNAVAILABLE'), 'work', 500, 0)).toEqual({
      again: true,
      delayMs: 10_000,
      counts: false,
    });
    expect(retryAfter(peer(60_000, 'PACE_REACHED'), 'work', 500, 0)).toEqual({
      again: true,
      delayMs: 60_000,
      counts: false,
    });
  });

  it('waits longer each time, at least half the step and never less than the peer asked for', () => {
    const failures = fc.integer({ min: 0, max: 8 });
    const random = fc.double({ min: 0, max: 0.999, noNaN: true });
    fc.assert(
      fc.property(
        failures,
        random,
        fc.option(fc.integer({ min: 0, max: 600_000 })),
        (count, jitter, asked) => {
          const retry = retryAfter(peer(asked), 'tell', count, jitter);
          const step = Math.min(300_000, 2000 * 2 ** count);
          expect(retry.again).toBe(true);
          if (!retry.again) return;
          expect(retry.delayMs).toBeGreaterThanOrEqual(Math.floor(Math.max(step / 2, asked ?? 0)));
          expect(retry.delayMs).toBeLessThanOrEqual(Math.ceil(Math.max(step, asked ?? 0)));
        },
      ),
    );
  });
});
