import { describe, expect, it } from 'vitest';
import { findCheats } from '../../src/evaluator/cheat-checks/find-cheats.js';

/** One line each: ways round the plain form of a rule. */
const EVASIONS: readonly string[] = [
  'export let f = (t) => { const p = [process][0]; return p.env; };',
  'const {process: p} = globalThis; export const f = () => p.env.X;',
  'export const f = () => { const { ["env"]: e } = process; return e.X; };',
  'const get = (o, k) => o[k]; export const f = () => get(globalThis, "process").env;',
  'export const f = () => Object.entries(process.env).length;',
  'export const f = () => Object.getOwnPropertyDescriptor(process, "env").value.X;',
  'export const f = () => { for (const k in process) { if (k === "env") return 1; } };',
  'export const f = () => ({ ...process }).env;',
  'export const f = () => globalThis["process"]["env"];',
  'export const f = (t) => t instanceof process.constructor;',
  'export const f = async () => (await import("node:process")).env;',
  'export const f = async () => { const m = await import("process"); return m.default.env; };',
  'import process from "process"; export const f = () => process["argv"];',
  'import * as P from "node:process"; export const f = () => P.argv;',
  'export { env } from "node:process";',
  'import { hrtime } from "process"; export const f = () => hrtime.bigint();',
  'const now = Date.now; export const f = () => now();',
  'const D = Date; export const f = () => new D().getTime();',
  'export const f = () => Reflect.construct(Date, []).getTime();',
  'export const f = () => +new (class extends Date {})();',
  'export const f = () => Date();',
  'const { now } = Date; export const f = () => now();',
  'let cache; export const f = (t) => { cache ||= new Map(); if (!cache.has(t)) cache.set(t, t); return cache.get(t); };',
  'const m = new Map(); const { set } = m; export const f = (t) => { set.call(m, t, 1); return m.get(t); };',
  'const m = new Map(); const put = m.set.bind(m); export const f = (t) => { put(t, 1); return m.get(t); };',
  'const box = [null]; export const f = (t) => { [box[0]] = [t]; return box[0]; };',
  'const box = {}; export const f = (t) => { ({ a: box.a } = { a: t }); return box.a; };',
  'const box = {}; export const f = (t) => { for (box.a of [t]); return box.a; };',
  'const box = {}; export const f = (t) => { Object.assign(box, { [t]: 1 }); return box[t]; };',
  'const box = {}; export const f = (t) => { Reflect.set(box, t, 1); return box[t]; };',
  'const box = {}; export const f = (t) => { Object.defineProperty(box, t, { value: 1 }); return box[t]; };',
  'export function f(t) { f.last = t; return f.last; }',
  'export const f = function g(t) { g.last = t; return g.last; };',
  'export default class A { static last; static f(t) { A.last = t; return A.last; } }',
  'export class A { static #m = {}; static f(t) { return (this.#m[t] ??= t + 1); } }',
  'class M { m = new Map(); put(k, v) { this.m.set(k, v); } get(k) { return this.m.get(k); } } const s = new M(); export const f = (t) => { s.put(t, 1); return s.get(t); };',
  'export const f = ((m) => (t) => (m[t] ??= t + 1))({});',
  'export const f = (() => { let last, out; return (t) => t === last ? out : (last = t, out = t + 1); })();',
  'const make = () => { const m = new Map(); return { f: (t) => { if (!m.has(t)) m.set(t, 1); return m.get(t); } }; }; export const { f } = make();',
  'function make() { const m = new Map(); return (t) => { m.set(t, 1); return m.get(t); }; } const g = make(); export function f(t) { return g(t); }',
  'const o = { make() { const m = new Map(); return (t) => { m.set(t, 1); return m.get(t); }; } }; export const f = o.make();',
  'class C { constructor() { const m = new Map(); this.f = (t) => { m.set(t, 1); return m.get(t); }; } } export const f = new C().f;',
  'const list = [1,2]; export const f = (t) => { list.length = 0; list.push(t); return list; };',
  'const handlers = new Proxy({}, {}); export const f = (t) => { handlers[t] = 1; return handlers[t]; };',
  'const it = { *[Symbol.iterator]() { let n = 0; while (true) yield n++; } }[Symbol.iterator](); export const f = (t) => it.next().value;',
  'export const f = (t) => { t.__proto__.memo = 1; return t; };',
  'export const f = (t) => { Object.getPrototypeOf(t).memo = 1; return t; };',
  'export const f = (t) => { t.constructor.memo = 1; return t; };',
  'const d = Object.defineProperty; d(Array.prototype, "x", {}); export const f = 1;',
  'const { prototype } = Array; prototype.x = 1; export const f = 1;',
  'const { prototype: { } , prototype: p } = String; p.x = 1; export const f = 1;',
  'Object.getOwnPropertyNames(Math).forEach((k) => { Math[k] = () => 0; }); export const f = 1;',
  'for (const C of [Array, String]) C.prototype.x = 1; export const f = 1;',
  '[Array].forEach((A) => { A.prototype.x = 1; }); export const f = 1;',
  'Array.prototype.__defineGetter__("x", () => 1); export const f = 1;',
  'Promise.prototype.then = function () {}; export const f = 1;',
  'Object.setPrototypeOf(Array.prototype, {}); export const f = 1;',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: source of a cheat.
  'const s = `pro${"cess"}`; export const f = () => globalThis[s].env;',
  'export const f = () => globalThis[atob("cHJvY2Vzcw==")].env;',
  'export const f = () => { try { throw new Error(); } catch ({ stack }) { return stack; } };',
  'export const f = () => { const e = new TypeError("x"); return e["sta" + "ck"]; };',
  'export const f = () => Error("x").stack;',
  'class E extends Error {} export const f = () => new E().stack;',
  'export const f = () => String(new Error().stack);',
  'export const f = () => { const o = {}; Error["captureStackTrace"](o); return o.stack; };',
  'export const f = async () => { const { readFileSync } = await import("fs"); return readFileSync("x"); };',
  'const r = require; export const f = () => r("fs").readFileSync("x");',
  'import { createRequire } from "node:module"; const req = createRequire(import.meta.url); export const f = () => req("fs");',
  'export const f = () => [].constructor.constructor("return process")();',
  'export const f = () => (async () => {}).constructor("return 1")();',
  'export const f = () => Reflect.construct(Function, ["return process"])();',
  'const F = Function; export const f = () => F("return process")();',
  'const e = eval; export const f = () => e("process");',
  'export const f = () => setTimeout("x", 1);',
  'export const f = (t) => { (async () => { await null; t(); })(); };',
  'export const f = (t) => { void Promise.resolve().then(t); };',
  'export const f = (t) => { const p = Promise.resolve(); p.then(() => t()); };',
  'export async function g(t) { await null; t(); } export const f = (t) => { g(t); };',
  'export const f = () => Symbol["for"]("x");',
  'const w = new WeakRef({}); export const f = () => w.deref();',
  'var m = {}; export const f = (t) => { var c = m; c[t] = 1; return c[t]; };',
  'let m = {}; export const f = (t) => { m = { ...m, [t]: 1 }; return m[t]; };',
  'const m = [{}]; export const f = (t) => { m.at(0)[t] = 1; return m[0][t]; };',
  'const m = [{}]; export const f = (t) => { m.forEach((x) => { x[t] = 1; }); return m[0][t]; };',
  'const m = [{}]; export const f = (t) => { for (const x of m) x[t] = 1; return m[0][t]; };',
  'const m = {}; const put = (s, k, v) => { s[k] = v; }; export const f = (t) => { put(m, t, 1); return m[t]; };',
  'const m = {}; export const f = (t, s = m) => { s[t] = 1; return s[t]; };',
  'const m = Object.freeze({ a: {} }); export const f = (t) => { m.a[t] = 1; return m.a[t]; };',
  'const m = new URLSearchParams(); export const f = (t) => { m.set(t, 1); return m.get(t); };',
  'const m = new Headers(); export const f = (t) => { m.append(t, "1"); return m.get(t); };',
  'const m = /x/g; export const f = (t) => { m.memo = t; return m.memo; };',
  'import { m } from "./m.js"; export const f = (t) => { m.set(t, 1); return m.get(t); };',
  'import { m } from "./m.js"; export const f = (t) => { m[t] = 1; return m[t]; };',
  'export const f = (t) => { import.meta.memo = t; return import.meta.memo; };',
  'const b = Buffer.alloc(9); export const f = (t) => { if (b.toString().startsWith(t)) return 1; b.write(t); return 2; };',
  'const b = new DataView(new ArrayBuffer(8)); export const f = (t) => { const v = b.getInt32(0); if (v) return v; b.setInt32(0, t); return t; };',
  'export const f = (t) => { arguments.callee.m = t; return t; };',
  'export function f(t) { return f.caller; }',
  'export const f = (t) => navigator.userAgent;',
  'const p = process; const q = p; const { env: e = {} } = q; export const f = () => e.X;',
  'let g; g = globalThis; export const f = () => g.process.env;',
  'export const f = () => (globalThis, process).env.X;',
  'export const f = () => (0 || process).env.X;',
  'export const f = (p = process) => p.env.X;',
  'export const f = ({ env } = process) => env.X;',
  'class A { p = process; f() { return this.p.env; } } export const f = new A();',
  'const o = { get p() { return process; } }; export const f = () => o.p.env;',
];

describe('a way round the checks', () => {
  it.each(EVASIONS)('is refused: %s', (after) => {
    const found = findCheats([{ path: 'a.js', before: 'export const f = (t) => t + 1;\n', after }], {
      benchmarks: [],
    });
    expect(found).not.toEqual([]);
    expect(found.filter(({ rule }) => rule === 'unparsable')).toEqual([]);
  });

  it('is found however long the chain of names is', () => {
    const names = Array.from({ length: 150 }, (_, i) => `const a${i + 1} = a${i};`);
    const after = `const f = () => a150.env;\n${names.reverse().join('\n')}\nconst a0 = process;\n`;
    const found = findCheats([{ path: 'a.js', before: null, after }], { benchmarks: [] });
    expect(found).toMatchObject([{ line: 1, rule: 'environment' }]);
  });

  it('is not paid with time: names that double each other are folded once', () => {
    const names = Array.from({ length: 200 }, (_, i) => `const b${i + 1} = b${i} + b${i};`).join('\n');
    const after = `const b0 = 'x';\n${names}\nexport const f = () => globalThis[b200];\n`;
    const started = performance.now();
    const found = findCheats([{ path: 'a.js', before: null, after }], { benchmarks: [] });
    expect(found.map(({ rule }) => rule)).toContain('hidden-name');
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
