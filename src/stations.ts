/** Puts all stations together, for the service and for local use alike; the two differ in their publisher and model only. */
import type { Stations } from './domain/effect.js';
import type { Ledger } from './domain/lesson.js';
import type { ModelJournal, Money } from './domain/money.js';
import type { SourceMirror } from './domain/repository.js';
import type { Sandbox } from './domain/sandbox.js';
import { createBaseMemory } from './evaluator/base-memory.js';
import { createBenchmarkTrial } from './evaluator/benchmark-trial.js';
import { createEvaluateStation } from './evaluator/evaluate-station.js';
import { createHeldBackTrial } from './evaluator/held-back-trial.js';
import { createRecordFateStation, createRememberStation } from './ledger/ledger-stations.js';
import { createExecuteStation } from './planner/execute-station.js';
import type { ChatModel } from './planner/openai-planner.js';
import { createPlanStation } from './planner/plan-station.js';
import { DEFAULT_LIMITS, type PlannerDeps } from './planner/planner-deps.js';
import { createRecoverStation } from './planner/recover-station.js';
import type { PublisherStations } from './publisher/github-publisher.js';
import { createPrepareStation, type PrepareStationDeps } from './sandbox/prepare-station.js';

export interface StationParts {
  readonly sandbox: Sandbox;
  readonly mirror: SourceMirror;
  readonly money: Money;
  readonly journal: ModelJournal;
  readonly ledger: Ledger;
  readonly model: ChatModel;
  readonly publisher: PublisherStations;
  readonly readSettings: PrepareStationDeps['readSettings'];
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function createStations(parts: StationParts): Stations {
  const { sandbox, mirror, ledger, money } = parts;
  const built = createBaseMemory<true>();
  const planner: PlannerDeps = {
    sandbox,
    mirror,
    ledger,
    money,
    journal: parts.journal,
    model: parts.model,
    benchmarkTrial: createBenchmarkTrial({ sandbox, built }),
    heldBackTrial: createHeldBackTrial({ sandbox, built }),
    limits: DEFAULT_LIMITS,
  };
  return {
    ...parts.publisher,
    prepare: createPrepareStation({ mirror, sandbox, readSettings: parts.readSettings }),
    plan: createPlanStation(planner),
    execute: createExecuteStation(planner),
    recover: createRecoverStation(planner),
    evaluate: createEvaluateStation({ sandbox, mirror, built, now: parts.now }),
    remember: createRememberStation({ ledger, money }),
    'record-fate': createRecordFateStation({ ledger }),
    discard: async (effect) => {
      await sandbox.discard(effect.payload.run.id);
      return null;
    },
  };
}
