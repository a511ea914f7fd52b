// The inputs of the differential comparison, made from a seed alone: the same index gives the same arguments on base and
// patch. Calls that stand in the repository's tests and benchmark come first, then variations of them; where there are
// none, generic values, more of those that code is written for and some of those that it is not.
import vm from 'node:vm';

/** Uniform numbers in [0, 1) from a text: mulberry32 started from FNV-1a. */
export function randomOf(text) {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const NUMBERS = [0, 1, 2, 3, 5, 7, 10, 16, 42, 100, 255, -1, -2, -10, 0.5, 1.5, -0.25, 1e-7, 1234.5678];
const ODD_NUMBERS = [-0, Number.NaN, Infinity, -Infinity, 2 ** 31, 2 ** 32 + 1, 2 ** 53, 1e21, 1e300];
const STRINGS = [
  ...['', 'a', 'b', 'abc', 'Hello, World', 'foo bar', '0', '1', '42', '-1', '1.5', 'true', ' x ', 'a,b,c'],
  ...[
    'a=b; c=d',
    'key: value',
    '/a/b/c',
    'a.b.c',
    '1.2.3',
    'x@y.example',
    '<b>&amp;</b>',
    '"quoted"',
    'line\nline',
  ],
  ...[
    '\t',
    'é',
    '日本語',
    '👍🏽',
    'e\u0301',
    '\u001b[31mred\u001b[39m',
    '%20%zz',
    'a'.repeat(60),
    'snake_case',
    'camelCase',
  ],
];
const CALLBACKS = [
  (x) => x,
  (x) => String(x),
  (x) => x > 1,
  (a, b) => (a < b ? -1 : a > b ? 1 : 0),
  (a, b) => a + b,
  () => true,
];
const SEGMENTER = new Intl.Segmenter('en', { granularity: 'grapheme' });
const KEYS = ['a', 'b', 'id', 'name', 'value', '0', 'x'];

export function createInputs({ recorded, literals }) {
  const strings = [...STRINGS, ...literals.strings];
  const numbers = [...NUMBERS, ...literals.numbers];

  const pick = (random, list) => list[Math.floor(random() * list.length)];
  const text = (random) => {
    const base = pick(random, random() < 0.5 && literals.strings.length > 0 ? literals.strings : strings);
    return random() < 0.3 ? varyText(random, base) : base;
  };
  const number = (random) => (random() < 0.05 ? pick(random, ODD_NUMBERS) : pick(random, numbers));

  function value(random, depth = 0) {
    const r = random();
    if (r < 0.3) return text(random);
    if (r < 0.5) return number(random);
    if (r < 0.68 && depth < 3) return list(random, depth);
    if (r < 0.82 && depth < 3) return object(random, depth);
    if (r < 0.88) return pick(random, CALLBACKS);
    if (r < 0.92) return random() < 0.5;
    if (r < 0.94) return undefined;
    if (r < 0.95) return null;
    if (r < 0.96) return new Date(Math.floor(random() * 2e12));
    if (r < 0.97) return pick(random, [/a/, /\s+/g, /^\d+$/i]);
    if (r < 0.98) return Float64Array.from({ length: 5 }, () => number(random));
    if (r < 0.99) return new Map([[text(random), number(random)]]);
    return new Set([number(random), text(random)]);
  }

  /** Mostly of one kind, as lists are. */
  function list(random, depth) {
    const length = random() < 0.1 ? 40 : Math.floor(random() * 7);
    const kind = random();
    const item = () => {
      if (kind < 0.35) return number(random);
      if (kind < 0.65) return text(random);
      if (kind < 0.8) return object(random, depth + 1);
      return value(random, depth + 1);
    };
    return Array.from({ length }, item);
  }

  function object(random, depth) {
    const made = {};
    for (let left = Math.floor(random() * 5); left > 0; left--) {
      const key = random() < 0.7 ? pick(random, KEYS) : text(random);
      made[key] = value(random, depth + 1);
    }
    return made;
  }

  /** By whole characters, as people see them: no half of an emoji is made. */
  function varyText(random, from) {
    const characters = Array.from(SEGMENTER.segment(from), ({ segment }) => segment);
    const at = Math.floor(random() * (characters.length + 1));
    const until = Math.min(characters.length, at + Math.ceil(random() * 3));
    const part = (start, end) => characters.slice(start, end).join('');
    const r = random();
    if (r < 0.2) return part(0, at) + part(until);
    if (r < 0.4) return part(0, at) + pick(random, [...' ;,=.-_/%"0aZé', '👍']) + part(at);
    if (r < 0.55) return part(0, until) + part(at);
    if (r < 0.7) return part(0, at) + pick(random, strings) + part(at);
    if (r < 0.8) return part(0, at);
    return r < 0.9 ? from.toUpperCase() : from + from;
  }

  /** A variation of the same kind: text stays text, a number a number. */
  function vary(random, from, depth = 0) {
    if (typeof from === 'string') return varyText(random, from);
    if (typeof from === 'number') return varyNumber(random, from);
    if (typeof from === 'boolean') return !from;
    if (Array.isArray(from)) return varyList(random, from, depth);
    if (
      from !== null &&
      typeof from === 'object' &&
      Object.getPrototypeOf(from) === Object.prototype &&
      depth < 4
    ) {
      const keys = Object.keys(from);
      if (keys.length === 0) return from;
      const key = pick(random, keys);
      if (random() < 0.15) delete from[key];
      else from[key] = vary(random, from[key], depth + 1);
      return from;
    }
    return from;
  }

  /** A whole number stays whole and a sign stays: what a function is never given is no part of what it promises. */
  function varyNumber(random, from) {
    const whole = Number.isInteger(from);
    const size = Math.abs(from);
    const r = random();
    let varied = size * 2;
    if (r < 0.4) varied = size + 1;
    else if (r < 0.6) varied = Math.max(0, size - 1);
    else if (r < 0.8) varied = size * random();
    if (whole) varied = Math.floor(varied);
    return from < 0 ? -varied : varied;
  }

  function varyList(random, from, depth) {
    const at = Math.floor(random() * from.length);
    const r = random();
    if (from.length === 0) return from;
    if (r < 0.2) return from.filter((_, i) => i !== at);
    if (r < 0.4) return [...from.slice(0, at), from[Math.floor(random() * from.length)], ...from.slice(at)];
    if (r < 0.5) return [...from].reverse();
    if (r < 0.55) return [];
    return from.map((each, i) => (i === at && depth < 4 ? vary(random, each, depth + 1) : each));
  }

  /** Those of the first name that has any; names that every object has are no calls. */
  const callsOf = (names) => {
    const known = names.find((name) => Object.hasOwn(recorded, name) && recorded[name].length > 0);
    return known === undefined ? [] : recorded[known];
  };

  return {
    /** Arguments for the call `index` of the function `name`; `arity` is that of the base. */
    argumentsFor(random, names, arity, index) {
      const calls = callsOf(names);
      if (calls.length > 0) {
        // Evaluated anew each time: a call may change what it is given.
        const call = (index < calls.length ? calls[index] : pick(random, calls)).map(evaluated);
        if (index >= calls.length && call.length > 0) {
          const at = Math.floor(random() * call.length);
          call[at] = vary(random, call[at]);
          if (random() < 0.3) call[0] = vary(random, call[0]);
        }
        return call;
      }
      const r = random();
      const count = Math.max(0, arity + (r < 0.1 ? -1 : r > 0.8 ? 1 : 0));
      return Array.from({ length: count }, () => value(random));
    },
    isRecorded: (names) => callsOf(names).length > 0,
  };
}

/** The text stands in the repository's own tests, and this is the sandbox. */
function evaluated(source) {
  return vm.runInThisContext(`(${source})`);
}
