/** The hidden marker that ends each text of ours, so that it is found again before another one is made. */

/** GitHub refuses bodies above 65536 characters. */
const MAX_BODY_CHARS = 60_000;

/** The marker's text for a key; keys hold letters, digits and `: _ . -` only, others are replaced. */
export function markerOf(key: string): string {
  return `<!-- hasten:${key.replace(/[^A-Za-z0-9:_.-]/g, '_').replace(/--+/g, '-')} -->`;
}

/** Key of the one status comment of a run. */
export function statusKey(run: string): string {
  return `${run}:status`;
}

/** True for a text that ends with the marker; a marker elsewhere is somebody's quotation. */
export function carriesMarker(body: string | null | undefined, marker: string): boolean {
  return body?.trimEnd().endsWith(marker) ?? false;
}

/** Joins sections and ends with the marker; sections that would pass GitHub's limit are left out, with a line that says so. */
export function assemble(sections: readonly (string | null)[], key: string): string {
  const kept: string[] = [];
  let size = 0;
  let left = 0;
  for (const section of sections) {
    if (section === null || section === '') continue;
    if (size + section.length > MAX_BODY_CHARS) {
      left += 1;
      continue;
    }
    kept.push(section);
    size += section.length + 2;
  }
  if (left > 0) kept.push(`_${left} ${left === 1 ? 'section' : 'sections'} left out for length._`);
  return `${kept.join('\n\n')}\n\n${markerOf(key)}`;
}
