/** Globs of the settings' `allow` list against repository paths; no regular expression is built from them. */

/** True when `path` matches `glob`: `*` and `?` inside one segment, `**` as a whole segment for any number of them. */
export function matchesGlob(path: string, glob: string): boolean {
  return segmentsMatch(path.split('/'), glob.split('/'));
}

function segmentsMatch(path: readonly string[], glob: readonly string[]): boolean {
  // reachable[j]: the pattern's first j segments can match the path's segments so far.
  let reachable = [true];
  for (const [j, segment] of glob.entries()) reachable.push((reachable[j] ?? false) && segment === '**');
  for (const segment of path) {
    const next = [false];
    glob.forEach((pattern, j) => {
      const stays = pattern === '**' && ((reachable[j + 1] ?? false) || (next[j] ?? false));
      next.push(stays || ((reachable[j] ?? false) && (pattern === '**' || segmentMatches(segment, pattern))));
    });
    reachable = next;
  }
  return reachable[glob.length] ?? false;
}

/** One segment with `*` and `?`; goes back only to the last star, so it takes at most length × length steps. */
function segmentMatches(text: string, pattern: string): boolean {
  let at = 0;
  let place = 0;
  let star = -1;
  let starAt = 0;
  while (at < text.length) {
    const wanted = pattern[place];
    if (wanted === '*') {
      star = place++;
      starAt = at;
    } else if (wanted === '?' || wanted === text[at]) {
      place++;
      at++;
    } else if (star >= 0) {
      place = star + 1;
      at = ++starAt;
    } else {
      return false;
    }
  }
  return [...pattern.slice(place)].every((character) => character === '*');
}
