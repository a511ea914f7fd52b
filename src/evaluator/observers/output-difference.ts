/** Shows where two outputs of a benchmark differ, with some characters around the place. */

const AROUND = 120;

export interface ShownOutput {
  /** Whose it is, for people. */
  readonly name: string;
  /** The start of it. */
  readonly preview: string;
  /** Of the whole, in the unit of the caller. */
  readonly length: number;
}

/** `what` is the noun for both, `unit` the one of their lengths. */
export function outputDifference(what: string, unit: string, a: ShownOutput, b: ShownOutput): string {
  const first = firstDifference(a.preview, b.preview);
  const excerpt = (text: string) =>
    JSON.stringify(text.slice(Math.max(0, first - AROUND / 2), first + AROUND));
  return [
    `The ${what} (${a.length} and ${b.length} ${unit}) are equal for ${first} characters, then differ.`,
    `${a.name}: ${excerpt(a.preview)}`,
    `${b.name}: ${excerpt(b.preview)}`,
  ].join('\n');
}

/** Equal characters at the start; the previews hold only the first few thousand. */
function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  return at;
}
