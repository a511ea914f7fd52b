/** The ledger's stations: a lesson at the end of each run, and later what became of its pull request. */
import type { Station } from '../domain/effect.js';
import type { Ledger } from '../domain/lesson.js';
import type { Money } from '../domain/money.js';
import { lessonOf } from './lesson-of-run.js';

export interface RememberDeps {
  readonly ledger: Ledger;
  /** Only read: what a run has spent. */
  readonly money: Pick<Money, 'spentByRun'>;
}

/** Creates the station that stores the lesson of an ended run; the same run replaces its own lesson. */
export function createRememberStation(deps: RememberDeps): Station<'remember'> {
  return async (effect, context) => {
    const { run } = effect.payload;
    const spentUsd = await deps.money.spentByRun(run.id);
    await deps.ledger.remember(lessonOf(run, effect.repository, spentUsd, effect.createdAt));
    context.progress(`lesson stored: ${run.outcome ?? 'failed'}`);
    return null;
  };
}

/** Creates the station that notes whether a pull request was merged or closed; a run without a lesson is left alone. */
export function createRecordFateStation(deps: Pick<RememberDeps, 'ledger'>): Station<'record-fate'> {
  return async (effect, context) => {
    const { run, fate } = effect.payload;
    const known = await deps.ledger.recordFate(run, fate, effect.createdAt);
    context.progress(known ? `lesson of run ${run}: ${fate}` : `run ${run} has no lesson`);
    return null;
  };
}
