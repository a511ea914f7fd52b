/** The gate's rule and four rules used elsewhere over recorded timings: false alarms, power, and what they cost in runs. */
import type { Verdict } from '../../src/domain/evaluation.js';
import { DEFAULT_EVALUATE_OPTIONS } from '../../src/evaluator/evaluate-station.js';
import { seededRandom } from '../../src/evaluator/seeded-random.js';
import { playMeasurement, type Recording, sameArms } from '../support/recorded-timings.js';
import { playBlocks, RULES_USED_ELSEWHERE } from './rules-used-elsewhere.js';

/** Windows drawn per rule, condition and true change. */
const WINDOWS = 4000;
/** Cycles: two blocks of twenty, or the gate's last look. */
const LONGEST_WINDOW = 40;

export interface TimingsRow {
  readonly rule: string;
  /** The files' name without `-aa` or `-mix`. */
  readonly condition: string;
  /** A/A windows: base against the same program. */
  readonly windows: number;
  /** Shares of them, 0 to 1. */
  readonly falseFaster: number;
  readonly falseSlower: number;
  /** Share declared faster, by the true change in percent; empty where the condition has no mixed recording. */
  readonly power: Readonly<Record<string, number>>;
  /** Runs of both sides (and the control) in an A/A window, on average. */
  readonly meanRuns: number;
}

interface Arms {
  readonly base: number;
  readonly patch: number;
  readonly copy: number | null;
}

interface Played {
  readonly verdict: Verdict;
  readonly runs: number;
}

type Rule = readonly [string, (recording: Recording, start: number, arms: Arms) => Played];

const GATE = { minimumEffect: 0.05, comparisons: 1 };

const RULES: readonly Rule[] = [
  [
    'hasten',
    (recording, start, arms) =>
      playMeasurement(recording, start, arms, GATE, DEFAULT_EVALUATE_OPTIONS.vetoRetries),
  ],
  ...RULES_USED_ELSEWHERE.map(
    (rule): Rule => [
      rule.name,
      (recording, start, arms) => ({
        verdict: playBlocks(recording, start, arms, rule),
        runs: 2 * rule.runs,
      }),
    ],
  ),
];

/** One row per rule and condition. `seed` fixes the draws; the same draws serve every rule. */
export function timingsRows(recordings: readonly Recording[], seed: string): readonly TimingsRow[] {
  const conditions = new Set(recordings.map((recording) => conditionOf(recording)));
  return [...conditions].flatMap((condition) => {
    const of = recordings.filter((recording) => conditionOf(recording) === condition);
    return RULES.map((rule) => row(rule, condition, of, seed));
  });
}

function conditionOf(recording: Recording): string {
  return recording.name.replace(/-(aa|mix)$/, '');
}

function isMixed(recording: Recording): boolean {
  return new Set(recording.units.values()).size > 1;
}

function row(
  [name, play]: Rule,
  condition: string,
  recordings: readonly Recording[],
  seed: string,
): TimingsRow {
  const alike = recordings.filter((recording) => !isMixed(recording));
  // A condition without a recording of its own for A/A has two equal arms among its mixed ones.
  const aa = drawn(alike.length > 0 ? alike : recordings, `${seed}:${condition}:aa`, null, play);
  const share = (verdict: Verdict) => aa.filter((each) => each.verdict === verdict).length / aa.length;
  const mixed = recordings.filter(isMixed);
  const changes = new Set(mixed.flatMap((recording) => [...changesOf(recording).keys()]));
  const power = [...changes]
    .sort((a, b) => a - b)
    .map((change) => {
      const windows = drawn(mixed, `${seed}:${condition}:${change}`, change, play);
      return [`${change}`, windows.filter((each) => each.verdict === 'faster').length / windows.length];
    });
  return {
    rule: name,
    condition,
    windows: aa.length,
    falseFaster: share('faster'),
    falseSlower: share('slower'),
    power: Object.fromEntries(power),
    meanRuns: aa.reduce((sum, each) => sum + each.runs, 0) / aa.length,
  };
}

/** Arms by how much less work they do than the base, in percent. */
function changesOf(recording: Recording): ReadonlyMap<number, number> {
  const most = Math.max(...recording.units.values());
  const changes = new Map<number, number>();
  for (const [arm, units] of recording.units) {
    if (units < most) changes.set(Math.round((1 - units / most) * 1000) / 10, arm);
  }
  return changes;
}

/** Where a window may begin without coming to the recording's end; anywhere in a recording that is shorter than a window. */
function startsOf({ cycles }: Recording): number {
  return cycles.length > LONGEST_WINDOW ? cycles.length - LONGEST_WINDOW + 1 : cycles.length;
}

/** `change` null is A/A. The roles of the two equal arms are drawn for each window; with a change, the other one is the control. */
function drawn(
  recordings: readonly Recording[],
  seed: string,
  change: number | null,
  play: Rule[1],
): readonly Played[] {
  const random = seededRandom(seed);
  return Array.from({ length: WINDOWS }, () => {
    const recording = recordings[Math.floor(random() * recordings.length)];
    if (recording === undefined) throw new Error('A condition has at least one recording.');
    const start = Math.floor(random() * startsOf(recording));
    const [first, second] = sameArms(recording);
    const [base, other] = random() < 0.5 ? [first, second] : [second, first];
    if (change === null) return play(recording, start, { base, patch: other, copy: null });
    const patch = changesOf(recording).get(change);
    if (patch === undefined) throw new Error(`${recording.name} has no arm with ${change} % less work.`);
    return play(recording, start, { base, patch, copy: other });
  });
}
