/** Time units as benchmark tools write them. */

const MS_PER_UNIT: ReadonlyMap<string, number> = new Map([
  ['ps', 1e-9],
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1e3],
  ['min', 60e3],
  ['hr', 3600e3],
  ['day', 86_400e3],
]);

export const SECOND_MS = 1e3;
export const NANOSECOND_MS = 1e-6;

/** Milliseconds of one unit; null for what is no unit of time. */
export function msOfUnit(unit: string): number | null {
  return MS_PER_UNIT.get(unit) ?? null;
}
