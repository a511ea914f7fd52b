/** The paired ratios of a workload as one line of ASCII on a logarithmic axis, with 1.0x always in it. */

/** Base time over head time of each pair: above 1 is faster. */
export function pairedRatios(logRatios: readonly number[]): readonly number[] {
  return logRatios.map((logRatio) => Math.exp(-logRatio));
}

export interface RatioStrip {
  /** Ratio at the left end of the axis, at most 1. */
  readonly low: number;
  /** Ratio at the right end, at least 1. */
  readonly high: number;
  /** `width` characters: `|` is 1.0x, `o` one pair, `2`-`9` several, `+` more, `.` none. */
  readonly text: string;
}

const STRIP_WIDTH = 49;
const NARROWEST = 8;
/** Half of the narrowest axis: 5 %, so that noise does not look like an effect. */
const LEAST_REACH = Math.log(1.05);

/** Beyond it a ratio is no number any more. */
const FARTHEST = 700;

export const STRIP_LEGEND =
  'Each pair on a log axis, base time / head time: o one pair, 2-9 several, + more, | is 1.0x.';

/**
 * Draws the pairs. The column of 1.0x holds the mark alone: slower pairs stand left of it, others right.
 * Log ratios that are not finite are left out. `width` below 8 counts as 8.
 */
export function ratioStrip(logRatios: readonly number[], width: number = STRIP_WIDTH): RatioStrip {
  const columns = Math.max(NARROWEST, Math.floor(width));
  const gains = logRatios.filter(Number.isFinite).map((logRatio) => clamp(-logRatio, -FARTHEST, FARTHEST));
  const most = Math.max(0, ...gains);
  const least = Math.min(0, ...gains);
  // The side without far-out pairs keeps a tenth of the axis, so that the mark never touches the end.
  const reach = Math.max(most, -least, LEAST_REACH);
  const high = Math.max(most, reach / 8);
  const low = Math.min(least, -reach / 8);
  const mark = clamp(Math.round(((columns - 1) * -low) / (high - low)), 1, columns - 2);
  const counts = new Array<number>(columns).fill(0);
  for (const gain of gains) {
    const column =
      gain < 0
        ? clamp(mark - 1 - Math.floor((gain / low) * mark), 0, mark - 1)
        : clamp(mark + 1 + Math.floor((gain / high) * (columns - 1 - mark)), mark + 1, columns - 1);
    counts[column] = (counts[column] ?? 0) + 1;
  }
  const text = counts.map((count, column) => (column === mark ? '|' : sign(count))).join('');
  return { low: Math.exp(low), high: Math.exp(high), text };
}

function sign(count: number): string {
  if (count === 0) return '.';
  if (count === 1) return 'o';
  return count <= 9 ? String(count) : '+';
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
