/** Money and model journal in memory, for unit tests of the planner; the real ones are tables. */
import { BudgetError } from '../../../src/domain/errors.js';
import type { JournaledTurn, ModelJournal, Money } from '../../../src/domain/money.js';

export interface Booking {
  usd: number;
  state: 'reserved' | 'settled' | 'released';
}

export interface MemoryMoney extends Money {
  readonly bookings: Map<string, Booking>;
}

/** One limit, the run's. */
export function memoryMoney(): MemoryMoney {
  const bookings = new Map<string, Booking>();
  const used = () =>
    [...bookings.values()].reduce((sum, one) => sum + (one.state === 'released' ? 0 : one.usd), 0);
  return {
    bookings,
    async reserve({ key, usd, runLimitUsd }) {
      if (bookings.has(key)) return;
      if (used() + usd > runLimitUsd) {
        const message = 'no room';
        throw new BudgetError({
          code: 'BUDGET',
          message,
          limit: 'run',
          limitUsd: runLimitUsd,
          usedUsd: used(),
        });
      }
      bookings.set(key, { usd, state: 'reserved' });
    },
    async settle(key, usd) {
      bookings.set(key, { usd, state: 'settled' });
    },
    async release(key) {
      bookings.set(key, { usd: 0, state: 'released' });
    },
    async spentByRun() {
      return used();
    },
  };
}

export interface MemoryJournal extends ModelJournal {
  readonly answered: JournaledTurn[];
  readonly drafts: { readonly effectKey: string; readonly turn: number; readonly diff: string }[];
}

/** Turns, started calls and drafts of any number of effects. */
export function memoryJournal(): MemoryJournal {
  const answered: JournaledTurn[] = [];
  const started = new Map<string, number>();
  const drafts: MemoryJournal['drafts'] = [];
  return {
    answered,
    drafts,
    async turns(effectKey) {
      return answered.filter((turn) => turn.effectKey === effectKey);
    },
    async startedAttempts(effectKey, turn) {
      return started.get(`${effectKey}:${turn}`) ?? 0;
    },
    async start(effectKey, turn, attempt) {
      started.set(`${effectKey}:${turn}`, attempt);
    },
    async withdraw(effectKey, turn, attempt) {
      started.set(`${effectKey}:${turn}`, attempt - 1);
    },
    async finish(turn) {
      answered.push(turn);
    },
    async saveDraft(effectKey, turn, diff) {
      drafts.push({ effectKey, turn, diff });
    },
    async lastDraft(effectKey) {
      return drafts.findLast((draft) => draft.effectKey === effectKey) ?? null;
    },
  };
}
