/** What a measurement knows of one workload so far: its pairs, its control, and the rule's last look at them. */
import type { Verdict, WorkloadMeasurement } from '../domain/evaluation.js';
import { controlVeto, type GateLook, type GateRule, lookAt } from './gate-rule.js';
import type { ObservationAnswer } from './harness-protocol.js';
import { hodgesLehmann, median } from './signed-rank.js';

export interface Block {
  readonly base: ObservationAnswer;
  readonly patch: ObservationAnswer;
  /** Only in the first blocks. */
  readonly copy: ObservationAnswer | null;
}

/** Grows block by block; `verdict()` is null until the rule decides. */
export interface WorkloadSeries {
  readonly name: string;
  add(block: Block): void;
  pairs(): number;
  verdict(): Verdict | null;
  /** Base time over patch time so far; NaN before the first pair. */
  speedup(): number;
  /** Whether CPU time fell while wall time rose by more than the minimum effect: the patch waits instead of working. */
  waits(): boolean;
  report(): WorkloadMeasurement;
}

export function createWorkloadSeries(name: string, rule: GateRule): WorkloadSeries {
  const blocks: Block[] = [];
  let look: GateLook | null = null;

  const logRatios = () => blocks.map(({ base, patch }) => Math.log(patch.cpuNsPerOp / base.cpuNsPerOp));
  const wallLogRatios = () => blocks.map(({ base, patch }) => Math.log(patch.wallNsPerOp / base.wallNsPerOp));
  const controls = () =>
    blocks.flatMap(({ base, copy }) => (copy === null ? [] : [Math.log(copy.cpuNsPerOp / base.cpuNsPerOp)]));
  /** A verdict of the rule that the control forbids; what is inconclusive anyway needs no veto. */
  const isVetoed = () =>
    look !== null &&
    look.verdict !== null &&
    look.verdict !== 'inconclusive' &&
    controlVeto(controls(), look.estimate).vetoed;
  const waits = () => hodgesLehmann(wallLogRatios()) > -Math.log(1 - rule.minimumEffect);
  const verdict = (): Verdict | null => {
    if (look === null || look.verdict === null) return null;
    if (isVetoed() || (look.verdict === 'faster' && waits())) return 'inconclusive';
    return look.verdict;
  };

  return {
    name,
    add(block) {
      blocks.push(block);
      look = lookAt(logRatios(), rule);
    },
    pairs: () => blocks.length,
    verdict,
    speedup: () => Math.exp(-hodgesLehmann(logRatios())),
    waits,
    report: () => ({
      name,
      verdict: verdict() ?? 'inconclusive',
      speedup: Math.exp(-(look?.estimate ?? Number.NaN)),
      interval: look?.interval ? [Math.exp(-look.interval[1]), Math.exp(-look.interval[0])] : null,
      intervalKind: look?.intervalKind ?? '99.5 % signed-rank interval',
      pairs: blocks.length,
      control: {
        ratio: Math.exp(-hodgesLehmann(controls())),
        blocks: controls().length,
        vetoed: isVetoed(),
      },
      costs: [],
      baseMs: median(blocks.map(({ base }) => base.cpuNsPerOp / 1e6)),
      patchMs: median(blocks.map(({ patch }) => patch.cpuNsPerOp / 1e6)),
      logRatios: logRatios(),
    }),
  };
}
