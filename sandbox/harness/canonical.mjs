// One text for one value, the same on base and patch where they answer the same: types told apart, keys in their order,
// depth and size bounded. Left out on purpose: what a function looks like inside, and of the subject's own classes the
// fields that begin with an underscore (a patch may keep its state as it likes).
const MOST_NODES = 5000;
const MOST_DEPTH = 12;
const MOST_CHARS = 100_000;
const TypedArray = Object.getPrototypeOf(Uint8Array);

/** Never throws: a getter that throws is part of the text. */
export function canonical(value) {
  const state = { nodes: 0, seen: new Map() };
  const text = textOf(value, 0, state);
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…${text.length}` : text;
}

function textOf(value, depth, state) {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'bigint':
      return `${value}n`;
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'symbol':
      return `Symbol(${value.description ?? ''})`;
    case 'function':
      return 'function';
    default:
      return objectText(value, depth, state);
  }
}

function objectText(value, depth, state) {
  const known = state.seen.get(value);
  if (known !== undefined) return `#${known}`;
  if (depth > MOST_DEPTH || ++state.nodes > MOST_NODES) return '…';
  state.seen.set(value, state.seen.size);
  const inner = (each) => textOf(each, depth + 1, state);
  try {
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    if (value instanceof Date) return `Date(${Number.isNaN(+value) ? 'invalid' : value.toISOString()})`;
    if (value instanceof RegExp) return `${value} at ${value.lastIndex}`;
    if (value instanceof Number || value instanceof String || value instanceof Boolean) {
      return `boxed ${inner(value.valueOf())}`;
    }
    if (value instanceof Map) return `Map{${[...value].map(([k, v]) => `${inner(k)}=>${inner(v)}`).join()}}`;
    if (value instanceof Set) return `Set{${[...value].map(inner).join()}}`;
    if (value instanceof Promise) return 'Promise';
    if (value instanceof ArrayBuffer) return `ArrayBuffer${inner(new Uint8Array(value))}`;
    if (value instanceof TypedArray) return `${value.constructor.name}[${firstOf(value).map(inner).join()}]`;
    if (Array.isArray(value)) return arrayText(value, inner);
    return membersText(value, inner);
  } catch (error) {
    return `unreadable (${error?.name})`;
  }
}

function firstOf(list) {
  return [...list.slice(0, MOST_NODES), ...(list.length > MOST_NODES ? [list.length] : [])];
}

function arrayText(list, inner) {
  const items = [];
  const length = Math.min(list.length, MOST_NODES);
  for (let i = 0; i < length; i++) items.push(i in list ? inner(list[i]) : 'hole');
  if (list.length > length) items.push(`…${list.length}`);
  const named =
    list.length > length ? [] : Object.keys(list).slice(Object.keys(list).length - extraKeys(list));
  return `[${items.join()}]${named.map((key) => ` ${key}=${inner(list[key])}`).join('')}`;
}

function extraKeys(list) {
  let count = 0;
  for (const key of Object.keys(list)) if (!/^\d+$/.test(key)) count++;
  return count;
}

function membersText(value, inner) {
  const prototype = Object.getPrototypeOf(value);
  const plain = prototype === null || prototype === Object.prototype;
  const name = plain ? '' : (prototype.constructor?.name ?? 'Object');
  const keys = Object.keys(value).filter((key) => plain || !key.startsWith('_'));
  if (!plain) keys.sort();
  const members = keys
    .slice(0, MOST_NODES)
    .map((key) => `${JSON.stringify(key)}:${memberText(value, key, inner)}`);
  return `${name}{${members.join()}}`;
}

function memberText(value, key, inner) {
  let member;
  try {
    member = value[key];
  } catch (error) {
    return `throws ${error?.name}`;
  }
  return inner(member);
}
