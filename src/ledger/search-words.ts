/** Turns a problem in words, hostile or not, into a query that SQLite's FTS5 takes as plain words only. */

const MAX_TEXT_CHARS = 20_000;
const MAX_WORDS = 64;
const MAX_WORD_CHARS = 64;

/** Words that stand in every report and would make every lesson match. */
const STOP_WORDS = new Set(
  'a an and are as at be but by can do does for from get has have how i if in is it its not of on or our so than that the then there this to too up us use uses very was we were what when which will with you your'.split(
    ' ',
  ),
);

/** The distinct words of a text in lower case, parts of camelCase names beside the name, most at the front. */
export function searchWords(text: string): readonly string[] {
  const words = new Set<string>();
  for (const [name] of text.slice(0, MAX_TEXT_CHARS).matchAll(/[\p{L}\p{N}]+/gu)) {
    for (const word of [name, ...partsOf(name)]) {
      const lower = word.toLowerCase().slice(0, MAX_WORD_CHARS);
      if (lower.length > 1 && !STOP_WORDS.has(lower)) words.add(lower);
    }
    if (words.size >= MAX_WORDS) break;
  }
  return [...words].slice(0, MAX_WORDS);
}

/** An FTS5 query that matches any of the words, each quoted; null when there is no word to search for. */
export function matchQuery(text: string): string | null {
  const words = searchWords(text);
  return words.length === 0 ? null : words.map((word) => `"${word}"`).join(' OR ');
}

/** The text with the parts of its camelCase names added, as the index gets it. */
export function indexedText(text: string): string {
  const parts = [...text.slice(0, MAX_TEXT_CHARS).matchAll(/[\p{L}\p{N}]+/gu)].flatMap(([name]) =>
    partsOf(name),
  );
  return parts.length === 0 ? text : `${text}\n${[...new Set(parts)].join(' ')}`;
}

function partsOf(name: string): readonly string[] {
  const parts = name.split(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u);
  return parts.length > 1 ? parts : [];
}
