/** What a measurement knows of one workload so far: its pairs, its control, its costs, and the rule's last look at them. */
import type { SideCost, Verdict, WorkloadMeasurement } from '../domain/evaluation.js';
import { controlVeto, type GateLook } from './gate-rule.js';
import type { Sample } from './observers/benchmark-observer.js';
import { type CostLimits, sideCosts } from './side-costs.js';
import { hodgesLehmann, median } from './signed-rank.js';

export interface Block {
  readonly base: Sample;
  readonly patch: Sample;
  /** Only in the first blocks. */
  readonly copy: Sample | null;
}

/** Grows block by block; `verdict()` is null until the rule decides. */
export interface WorkloadSeries {
  readonly name: string;
  add(block: Block): void;
  /** Takes what the rule found in the pairs so far. */
  judge(look: GateLook): void;
  pairs(): number;
  /** ln(patch/base) of each pair in the order measured. */
  logRatios(): readonly number[];
  /** The rule's own verdict, before control and costs. */
  ruleVerdict(): Verdict | null;
  verdict(): Verdict | null;
  /** Base time over patch time so far; NaN before the first pair. */
  speedup(): number;
  worseCosts(): readonly SideCost[];
  report(): WorkloadMeasurement;
}

export function createWorkloadSeries(name: string, limits: CostLimits): WorkloadSeries {
  const blocks: Block[] = [];
  let look: GateLook | null = null;

  const logRatios = () => blocks.map(({ base, patch }) => Math.log(patch.msPerOp / base.msPerOp));
  const controls = () =>
    blocks.flatMap(({ base, copy }) => (copy === null ? [] : [Math.log(copy.msPerOp / base.msPerOp)]));
  /** A verdict of the rule that the control forbids; what is inconclusive anyway needs no veto. */
  const isVetoed = () =>
    look !== null &&
    look.verdict !== null &&
    look.verdict !== 'inconclusive' &&
    controlVeto(controls(), look.estimate).vetoed;
  const worseCosts = () => sideCosts(blocks, limits).filter(({ worse }) => worse);
  const verdict = (): Verdict | null => {
    if (look === null || look.verdict === null) return null;
    if (isVetoed() || (look.verdict === 'faster' && worseCosts().length > 0)) return 'inconclusive';
    return look.verdict;
  };

  return {
    name,
    add: (block) => void blocks.push(block),
    judge(found) {
      look = found;
    },
    pairs: () => blocks.length,
    logRatios,
    ruleVerdict: () => look?.verdict ?? null,
    verdict,
    speedup: () => Math.exp(-hodgesLehmann(logRatios())),
    worseCosts,
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
      costs: sideCosts(blocks, limits),
      baseMs: median(blocks.map(({ base }) => base.msPerOp)),
      patchMs: median(blocks.map(({ patch }) => patch.msPerOp)),
      logRatios: logRatios(),
    }),
  };
}
