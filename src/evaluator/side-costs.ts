/** What a gain must not be paid with: loading, the first call, waiting and memory, judged from the same pairs. */
import type { SideCost } from '../domain/evaluation.js';
import type { Sample } from './observers/benchmark-observer.js';
import { median, summariseSignedRanks } from './signed-rank.js';

export interface CostLimits {
  /** 0.05 = 5 %: the effect that counts for a gain counts for a cost too. */
  readonly minimumEffect: number;
  /** Growth of peak memory that is let through, 0.2 = 20 %. */
  readonly memoryGrowth: number;
}

export interface SamplePair {
  readonly base: Sample;
  readonly patch: Sample;
}

interface CostRule {
  readonly cost: SideCost['cost'];
  readonly figure: (sample: Sample) => number | null;
  /** Smallest log ratio that counts. */
  readonly threshold: (limits: CostLimits) => number;
  /** Smallest difference that counts, in the figure's unit. */
  readonly floor: number;
}

/** Two-sided level of the interval that must lie above "nothing changed". */
const ALPHA = 0.005;
/** With fewer pairs no interval has that level: all pairs must be beyond the threshold. */
const FEWEST_FOR_INTERVAL = 9;

/**
 * The floors keep apart what a person would notice from how finely a process can be measured: over copies of the same
 * code the medians of loading and first call move by up to a millisecond, peak memory by up to two MiB.
 */
const RULES: readonly CostRule[] = [
  {
    cost: 'import-time',
    figure: ({ importMs }) => importMs,
    threshold: ({ minimumEffect }) => -Math.log(1 - minimumEffect),
    floor: 2,
  },
  {
    cost: 'first-call',
    figure: ({ firstCallMs }) => firstCallMs,
    threshold: ({ minimumEffect }) => -Math.log(1 - minimumEffect),
    floor: 2,
  },
  {
    cost: 'wall-time',
    figure: ({ wallMs }) => wallMs,
    threshold: ({ minimumEffect }) => -Math.log(1 - minimumEffect),
    floor: 0,
  },
  {
    cost: 'peak-memory',
    figure: ({ peakMemoryMiB }) => peakMemoryMiB,
    threshold: ({ memoryGrowth }) => Math.log(1 + memoryGrowth),
    floor: 4,
  },
];

/**
 * The costs that the samples tell. One is worse when its Hodges–Lehmann estimate is beyond the limit, its signed-rank
 * interval excludes that nothing changed (with fewer than nine pairs: each pair is beyond the limit), and the medians differ
 * by more than a floor that no clock's noise passes.
 */
export function sideCosts(pairs: readonly SamplePair[], limits: CostLimits): readonly SideCost[] {
  return RULES.flatMap((rule) => {
    const figures = pairs.flatMap(({ base, patch }) => {
      const [one, other] = [rule.figure(base), rule.figure(patch)];
      return one === null || other === null || one <= 0 || other <= 0 ? [] : [{ base: one, patch: other }];
    });
    return figures.length === 0 || figures.length < pairs.length ? [] : [costOf(rule, figures, limits)];
  });
}

function costOf(
  rule: CostRule,
  figures: readonly { readonly base: number; readonly patch: number }[],
  limits: CostLimits,
): SideCost {
  const logRatios = figures.map(({ base, patch }) => Math.log(patch / base));
  const summary = summariseSignedRanks(logRatios);
  const threshold = rule.threshold(limits);
  const base = median(figures.map((each) => each.base));
  const patch = median(figures.map((each) => each.patch));
  const isSignificant =
    figures.length < FEWEST_FOR_INTERVAL
      ? logRatios.every((each) => each > threshold)
      : summary.interval(ALPHA)[0] > 0;
  const worse = summary.estimate > threshold && isSignificant && patch - base >= rule.floor;
  return { cost: rule.cost, ratio: Math.exp(summary.estimate), base, patch, worse };
}

const WORDS: Readonly<Record<SideCost['cost'], string>> = {
  'import-time': 'loading takes',
  'first-call': 'the first call takes',
  'wall-time': 'wall time is',
  'peak-memory': 'peak memory is',
};

/** A clause for people: "loading takes 14 ms instead of 3 ms". */
export function costClause({ cost, base, patch }: SideCost): string {
  const unit = cost === 'peak-memory' ? 'MiB' : 'ms';
  return `${WORDS[cost]} ${short(patch)} ${unit} instead of ${short(base)} ${unit}`;
}

function short(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}
