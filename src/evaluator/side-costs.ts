/** What a gain must not be paid with: loading, the first call, waiting and memory, judged from the same pairs. */
import type { SideCost } from '../domain/evaluation.js';
import type { Sample } from './observers/benchmark-observer.js';
import { hodgesLehmann, median, summariseSignedRanks } from './signed-rank.js';

export interface CostLimits {
  /** 0.05 = 5 %: the effect that counts for a gain counts for a cost too. */
  readonly minimumEffect: number;
  /** Growth of peak memory that is let through, 0.2 = 20 %. */
  readonly memoryGrowth: number;
}

export interface SampleBlock {
  readonly base: Sample;
  readonly patch: Sample;
  /** The control, where it ran. */
  readonly copy: Sample | null;
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
/** With fewer pairs no interval has that level. */
const FEWEST_FOR_INTERVAL = 9;
/** A cost must stand out of what the control, base against its own copy, moved by itself. */
const CONTROL_FACTOR = 2;

/**
 * The floors keep apart what a person would notice from how finely a process can be measured. Over copies of the same code
 * (eight published packages, six processes each, on a machine with a load of five per CPU) the medians of loading moved by up
 * to 15 ms of 80, those of a first call by up to 16 ms of 50, short ones of either by up to 2 ms. Peak memory after four
 * calls moved by at most 0.3 MiB of 44 to 56; a faster patch needed at most 0.3 MiB more. At the end of the process the
 * faster patch of two of them had 12 MiB more, for nothing but the calls that it made in the same time.
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
 * The costs that the samples tell. One is worse when its Hodges–Lehmann estimate is beyond the limit and beyond twice the
 * control's; when its signed-rank interval excludes that nothing changed (with fewer than nine pairs: when each figure of the
 * patch is beyond the limit against base and control, which equal programs do in one of 3^6 cases at six blocks); and when
 * the medians differ by more than a floor.
 */
export function sideCosts(blocks: readonly SampleBlock[], limits: CostLimits): readonly SideCost[] {
  return RULES.flatMap((rule) => {
    const figures = blocks.flatMap(({ base, patch, copy }) => {
      const [one, other] = [rule.figure(base), rule.figure(patch)];
      const control = copy === null ? null : rule.figure(copy);
      return one !== null && other !== null && one > 0 && other > 0
        ? [{ base: one, patch: other, copy: control !== null && control > 0 ? control : null }]
        : [];
    });
    return figures.length === 0 || figures.length < blocks.length ? [] : [costOf(rule, figures, limits)];
  });
}

interface Figures {
  readonly base: number;
  readonly patch: number;
  readonly copy: number | null;
}

function costOf(rule: CostRule, figures: readonly Figures[], limits: CostLimits): SideCost {
  const logRatios = figures.map(({ base, patch }) => Math.log(patch / base));
  const controls = figures.flatMap(({ base, copy }) => (copy === null ? [] : [Math.log(copy / base)]));
  const summary = summariseSignedRanks(logRatios);
  const drift = controls.length === 0 ? 0 : Math.abs(hodgesLehmann(controls));
  const limit = Math.max(rule.threshold(limits), CONTROL_FACTOR * drift);
  const base = median(figures.map((each) => each.base));
  const patch = median(figures.map((each) => each.patch));
  const isSignificant =
    figures.length < FEWEST_FOR_INTERVAL
      ? figures.every((each) => Math.log(each.patch / Math.max(each.base, each.copy ?? 0)) > limit)
      : summary.interval(ALPHA)[0] > 0;
  const worse = summary.estimate > limit && isSignificant && patch - base >= rule.floor;
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
