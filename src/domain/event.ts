/** Every event that the machine takes; past tense, plain JSON, from deliveries, stations, timers and people. */

import type { StoredError } from './errors.js';
import type { EvaluationFailed, EvaluationPassed } from './evaluation.js';
import type { Benchmark, HotFunction, Patch, Plan } from './plan.js';
import type { Submission } from './run.js';
import type { RepositorySettings } from './settings.js';
import type { Trigger } from './trigger.js';

export type MachineEvent =
  | { readonly type: 'RUN_REQUESTED'; readonly run: string; readonly trigger: Trigger }
  /** The status comment stands; for alerts the tracking issue too. */
  | { readonly type: 'ACKNOWLEDGED'; readonly issueNumber: number | null }
  | { readonly type: 'PREPARED'; readonly settings: RepositorySettings }
  | {
      readonly type: 'PLAN_READY';
      readonly plan: Plan;
      readonly benchmark: Benchmark;
      /** Hottest functions of the base under the benchmark; empty where there is no profile. */
      readonly profile: readonly HotFunction[];
    }
  | { readonly type: 'NOTHING_TO_GAIN'; readonly reason: string }
  | { readonly type: 'PATCH_READY'; readonly patch: Patch }
  | { readonly type: 'EVALUATION_PASSED'; readonly evaluation: EvaluationPassed }
  | { readonly type: 'EVALUATION_FAILED'; readonly failure: EvaluationFailed }
  | { readonly type: 'PLAN_UPDATED'; readonly plan: Plan }
  | { readonly type: 'NO_FURTHER_IDEA'; readonly reason: string }
  | { readonly type: 'PULL_REQUEST_OPENED'; readonly submission: Submission }
  | { readonly type: 'REPORTED' }
  /** A station gave up: its error after the engine's retries. */
  | {
      readonly type: 'STATION_FAILED';
      readonly station: string;
      readonly error: StoredError;
      readonly diff?: string;
    }
  | {
      readonly type: 'BUDGET_EXHAUSTED';
      readonly limit: string;
      readonly limitUsd: number;
      readonly usedUsd: number;
    }
  | {
      readonly type: 'APPROVED';
      readonly by: string;
      readonly hint: string | null;
      readonly pauseRev: number;
    }
  | { readonly type: 'REJECTED'; readonly by: string; readonly reason: string | null }
  | { readonly type: 'CANCELLED'; readonly by: string }
  /** The run or a pause is past its time. */
  | { readonly type: 'DEADLINE_PASSED'; readonly name: 'run' | 'pause' };

/** An event as the machine takes it: the engine adds the moment and the revision that the machine gets by it. */
export type TimedEvent = MachineEvent & {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly rev: number;
};
