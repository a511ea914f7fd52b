/** Runs blocks: base, patch and, at first, the control copy, as fresh processes in an order that only the seed decides. */
import { BugError } from '../domain/errors.js';
import type { MeasurementArm } from '../domain/sandbox.js';
import {
  type ArmName,
  type BenchmarkObserver,
  type Observation,
  type ObservedArm,
  observedArm,
  type Sample,
} from './observers/benchmark-observer.js';
import { seededRandom, shuffled } from './seeded-random.js';
import type { Block } from './workload-series.js';

export interface BlockRunnerDeps {
  readonly arms: Readonly<Record<ArmName, MeasurementArm>>;
  readonly observer: BenchmarkObserver;
  /** Seed of the order. */
  readonly seed: string;
  readonly signal: AbortSignal;
}

export interface BlockRunner {
  /** One block of a group of workloads, by workload. Throws what the observer throws, or the signal's reason. */
  run(group: readonly string[], withControl: boolean): Promise<ReadonlyMap<string, Block>>;
  /** Processes so far. */
  runs(): number;
  /** Version of Node that the processes told; null for none. */
  node(): string | null;
}

/** Reads what is booked to the arms so far. */
export async function createBlockRunner(deps: BlockRunnerDeps): Promise<BlockRunner> {
  const { arms, observer, seed, signal } = deps;
  const random = seededRandom(seed);
  const base = await observedArm('base', arms.base);
  const patch = await observedArm('patch', arms.patch);
  const copy = await observedArm('copy', arms.copy);
  let runs = 0;
  let node: string | null = null;

  const one = async (arm: ObservedArm, group: readonly string[]): Promise<Observation['samples']> => {
    signal.throwIfAborted();
    const observation = await observer.observe(arm, group);
    runs++;
    node = observation.node ?? node;
    return observation.samples;
  };

  return {
    runs: () => runs,
    node: () => node,
    async run(group, withControl) {
      const found = new Map<ObservedArm, Observation['samples']>();
      const order = shuffled(withControl ? [base, patch, copy] : [base, patch], random);
      for (const arm of order) found.set(arm, await one(arm, group));
      const sample = (arm: ObservedArm, name: string) => found.get(arm)?.get(name) ?? null;
      return new Map(
        group.map((name) => {
          const block = { base: sample(base, name), patch: sample(patch, name), copy: sample(copy, name) };
          return [name, { ...block, base: given(block.base), patch: given(block.patch) }];
        }),
      );
    },
  };
}

function given(sample: Sample | null): Sample {
  if (sample !== null) return sample;
  throw new BugError({ code: 'BLOCK_INCOMPLETE', message: 'every arm of a block is observed once' });
}
