// Reads what the Node processes of a coverage run left in a directory: which parts of the workspace's scripts they
// executed. Only scripts that are a wanted file, or that a source map traces back to one, are kept.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const MOST_BYTES_PER_FILE = 64 * 2 ** 20;
const MOST_SCRIPTS = 300;
const MOST_MAP_CHARS = 2_000_000;
const INLINE_MAP = /\/\/[#@] sourceMappingURL=data:application\/json([^,\n]*),(\S+)/g;

/**
 * The parts of a script that were executed, as [start, end, start, end …] offsets in order: where V8's innermost range
 * has a count above zero. Ranges of a function are nested and in order, the outer one first; so are the functions.
 */
export function executedParts(functions) {
  const ranges = functions.flatMap((each) => each.ranges);
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const parts = [];
  const open = [];
  let at = 0;
  const upTo = (end) => {
    const inner = open[open.length - 1];
    if (inner !== undefined && inner.count > 0 && end > at) {
      if (parts[parts.length - 1] === at) parts[parts.length - 1] = end;
      else parts.push(at, end);
    }
    if (end > at) at = end;
  };
  const close = () => {
    upTo(open[open.length - 1].endOffset);
    open.pop();
  };
  for (const range of ranges) {
    while (open.length > 0 && open[open.length - 1].endOffset <= range.startOffset) close();
    upTo(range.startOffset);
    at = Math.max(at, range.startOffset);
    open.push(range);
  }
  while (open.length > 0) close();
  return parts;
}

/** Both lists of parts as one, in order, without overlap. */
export function union(a, b) {
  const pairs = [];
  for (const list of [a, b]) for (let i = 0; i < list.length; i += 2) pairs.push([list[i], list[i + 1]]);
  pairs.sort((x, y) => x[0] - y[0]);
  const parts = [];
  for (const [start, end] of pairs) {
    if (parts.length > 0 && start <= parts[parts.length - 1]) {
      parts[parts.length - 1] = Math.max(parts[parts.length - 1], end);
    } else parts.push(start, end);
  }
  return parts;
}

/** Collects from `directory`, again and again: what was read is deleted, for the directory is memory. */
export function createCoverageReader({ directory, root, files }) {
  const wanted = new Set(files);
  /** url → { parts, map } */
  const scripts = new Map();
  /** url → text as executed */
  const texts = new Map();
  let processes = 0;
  let unread = 0;

  function inWorkspace(url) {
    const file = pathOf(url);
    if (file === null || !file.startsWith(`${root}/`) || file.includes('/node_modules/')) return null;
    return file.slice(root.length + 1);
  }

  function readCoverageFile({ result, 'source-map-cache': maps = {} }) {
    processes++;
    for (const { url, functions } of result) {
      if (inWorkspace(url) === null) continue;
      const before = scripts.get(url);
      if (before === undefined && scripts.size >= 20 * MOST_SCRIPTS) continue;
      const parts = executedParts(functions);
      const known = maps[url]?.data ? { data: maps[url].data, lineLengths: maps[url].lineLengths } : null;
      scripts.set(url, {
        parts: before === undefined ? parts : union(before.parts, parts),
        map: known ?? before?.map ?? null,
        length: Math.max(before?.length ?? 0, ...functions.map(({ ranges }) => ranges[0].endOffset)),
      });
    }
  }

  function readSourcesFile({ scripts: captured }) {
    for (const { url, text } of captured) if (!texts.has(url)) texts.set(url, text);
  }

  /** `last`: no process writes any more, so that what cannot be read now never can. */
  function collect(last) {
    let names = [];
    try {
      names = fs.readdirSync(directory);
    } catch {
      return;
    }
    for (const name of names) {
      const file = path.join(directory, name);
      if (!/^(coverage|sources)-.*\.json$/.test(name)) continue;
      try {
        if (fs.statSync(file).size > MOST_BYTES_PER_FILE) throw new RangeError('too large');
        const members = JSON.parse(fs.readFileSync(file, 'utf8'));
        if (name.startsWith('coverage-')) readCoverageFile(members);
        else readSourcesFile(members);
      } catch {
        if (!last) continue;
        unread++;
      }
      fs.rmSync(file, { force: true });
    }
  }

  /** Null for what concerns no wanted file; `untraced` where it does but cannot be followed to its text. */
  function scriptOf(url, { parts, map, length }) {
    const file = inWorkspace(url);
    const text = texts.get(url) ?? null;
    const inline = text === null ? null : withMap(file, parts, inlineMap(text, url), lineLengths(text));
    if (inline !== null) return inline;
    const mapped =
      map === null ? null : withMap(file, parts, absoluteSources(map.data, url), map.lineLengths);
    if (mapped !== null) return mapped;
    // A build product may be the changed file itself: then its map, to sources that did not change, says nothing.
    if (!wanted.has(file)) return null;
    const content = readText(path.join(root, file));
    if (content === null) return { untraced: file };
    const whole = { file, parts, lineLengths: lineLengths(content), map: null };
    // What was compiled in memory is longer or shorter than the file.
    if (text === null) return length === content.length ? whole : { untraced: file };
    // Compiled without a map, or wrapped in a function by a test runner: then the file's text stands inside.
    const shift = text.indexOf(content);
    if (shift < 0) return { untraced: file };
    const moved = parts.map((offset) => Math.min(Math.max(offset - shift, 0), content.length));
    return { ...whole, parts: withoutEmpty(moved) };
  }

  function withMap(file, parts, map, lengths) {
    if (map === null || !Array.isArray(map.sources) || typeof map.mappings !== 'string') return null;
    const sources = map.sources.map((source) => inWorkspace(String(source)));
    if (!sources.some((source) => wanted.has(source))) return null;
    if (map.mappings.length > MOST_MAP_CHARS) return { untraced: file };
    const kept = {
      version: 3,
      names: [],
      sources: sources.map((source) => source ?? ''),
      mappings: map.mappings,
    };
    return { file, parts, lineLengths: lengths, map: kept };
  }

  return {
    collect,
    /** Members of the answer: scripts with their executed parts, and how many processes wrote coverage. */
    answer() {
      const made = [...scripts].map(([url, script]) => scriptOf(url, script)).filter((each) => each !== null);
      const traced = made.filter((each) => each.untraced === undefined).slice(0, MOST_SCRIPTS);
      const untraced = made.flatMap((each) => each.untraced ?? []).slice(0, MOST_SCRIPTS);
      return { processes, unread, scripts: traced, untraced };
    },
  };
}

function pathOf(url) {
  if (url.startsWith('/')) return url;
  try {
    return url.startsWith('file://') ? fileURLToPath(url) : null;
  } catch {
    return null;
  }
}

function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function lineLengths(text) {
  return text.split('\n').map((line) => line.length);
}

function withoutEmpty(parts) {
  const kept = [];
  for (let i = 0; i < parts.length; i += 2) if (parts[i + 1] > parts[i]) kept.push(parts[i], parts[i + 1]);
  return kept;
}

function inlineMap(text, url) {
  const found = [...text.matchAll(INLINE_MAP)].at(-1);
  if (found === undefined) return null;
  try {
    const json = found[1].includes('base64')
      ? Buffer.from(found[2], 'base64').toString('utf8')
      : decodeURIComponent(found[2]);
    return absoluteSources(JSON.parse(json), url);
  } catch {
    return null;
  }
}

function absoluteSources(map, url) {
  const from = url.startsWith('/') ? pathToFileURL(url).href : url;
  const sources = Array.isArray(map.sources) ? map.sources : [];
  return {
    mappings: map.mappings,
    sources: sources.map((source) => {
      try {
        return new URL(`${map.sourceRoot ? `${map.sourceRoot}/` : ''}${source ?? ''}`, from).href;
      } catch {
        return '';
      }
    }),
  };
}
