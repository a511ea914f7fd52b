/** What a performance patch has no reason to reach for: environment, call stack, clocks, other threads, code out of text. */
import type { NodePath } from '@babel/traverse';
import type { CheatRule, Occurrence } from './cheat-finding.js';
import { constantText } from './constant-text.js';
import { type Chain, CONSTRUCTOR, chainsOf, ERROR, PROTOTYPE, UNKNOWN_NAME } from './global-chain.js';
import type { Access } from './outside-access.js';

interface Verdict {
  readonly rule: CheatRule;
  readonly because: string;
}

/** Judges one access; null when it is harmless. */
export function outsideOccurrence(access: Access): Occurrence | null {
  const verdict =
    patched(access) ?? hidden(access) ?? named(access) ?? handedOn(access) ?? called(access) ?? null;
  if (verdict === null) return null;
  const name = spoken(access.chain);
  return {
    rule: verdict.rule,
    node: access.path.node,
    key: `${verdict.rule}:${access.usage === 'write' ? 'write:' : ''}${name}`,
    reason: `${name} ${verdict.because}.`,
  };
}

function spoken(chain: Chain): string {
  return chain.join('.').replaceAll(PROTOTYPE, 'a prototype').replaceAll(CONSTRUCTOR, 'a constructor');
}

/** Roots whose properties this file may set: its own exports, and what it caught. */
const OWN_ROOTS = new Set(['exports', 'module', ERROR, 'arguments', 'import.meta', 'require']);
const SETTERS = new Set([
  ...['Object.defineProperty', 'Object.defineProperties', 'Object.assign', 'Object.setPrototypeOf'],
  ...['Object.freeze', 'Object.seal', 'Object.preventExtensions', 'Reflect.set', 'Reflect.defineProperty'],
  ...['Reflect.deleteProperty', 'Reflect.setPrototypeOf', 'Reflect.preventExtensions'],
]);

function patched({ chain, usage, call, path }: Access): Verdict | null {
  const [root = ''] = chain;
  const patches: Verdict = {
    rule: 'global-patch',
    because: 'is changed, which other code (the harness among it) uses too; keep changes inside own values',
  };
  if (usage === 'write') return OWN_ROOTS.has(root) || isOwnLink(chain) ? null : patches;
  if (usage === 'call' && chain.length > 1 && /^__define[GS]etter__$/.test(chain.at(-1) ?? ''))
    return patches;
  if (usage !== 'argument' || call === null || OWN_ROOTS.has(root)) return null;
  const isFirst = (call.get('arguments') as NodePath[])[0]?.node === path.node;
  const callee = chainsOf(call.get('callee') as NodePath);
  return isFirst && callee.some((each) => SETTERS.has(each.join('.'))) ? patches : null;
}

/** `Sub.prototype.constructor = Sub` links an object of the file; what hangs below belongs to others. */
function isOwnLink(chain: Chain): boolean {
  return chain.length === 1 && (chain[0] === CONSTRUCTOR || chain[0] === PROTOTYPE);
}

const WITH_SECRETS = new Set([
  ...['process', 'globalThis', 'module', 'require', 'performance', 'Date', 'import.meta', 'Reflect'],
  ...[
    'arguments.callee',
    'Error',
    'Atomics',
    'crypto',
    'navigator',
    'document',
    'Object',
    'Function',
    'Symbol',
  ],
]);

function hidden({ chain }: Access): Verdict | null {
  if (chain[1] !== UNKNOWN_NAME || !WITH_SECRETS.has(chain[0] ?? '')) return null;
  return { rule: 'hidden-name', because: 'is read by a name that cannot be checked; write the name out' };
}

type Names = readonly (readonly [pattern: RegExp, rule: CheatRule, because: string])[];

const ENVIRONMENT = 'tells where the code runs; work that depends on it is faster only for the benchmark';
const CLOCK = 'reads a clock; a patch that did not need the time before has no use for it';
const MOVED = 'moves work to where or when it is not measured; do the work inside the call';
const CONTROL = 'steers the process that runs the code';
const STACK = 'looks at who calls; the same input must be the same work for every caller';
const TEXT = 'makes code out of text, which cannot be checked';
const LOADER = 'reaches into the loading of modules';

const NAMES: Names = [
  [
    /^process\.(?:env|argv0?|execArgv|execPath|title|mainModule|pid|ppid|cwd|config|features|report)\b/,
    'environment',
    ENVIRONMENT,
  ],
  [
    /^process\.(?:hrtime|uptime|cpuUsage|threadCpuUsage|memoryUsage|resourceUsage|availableMemory)\b/,
    'clock',
    CLOCK,
  ],
  [/^process\.(?:nextTick|setImmediate)\b/, 'moved-work', MOVED],
  [/^process\.(?!(?:platform|arch|versions?|release|emitWarning)\b)[^.]+/, 'process-control', CONTROL],
  [/^require\.main\b|^import\.meta\.(?:main|env)\b|^module\.parent\b/, 'environment', ENVIRONMENT],
  [/^(?:navigator|location|document)\b/, 'environment', ENVIRONMENT],
  [/^require\.[^.]+/, 'module-loader', LOADER],
  [/^module\.(?!exports\b)[^.]+|^(?:Module|__non_webpack_require__)\b/, 'module-loader', LOADER],
  [
    /^Date\.now\b|^performance\.|^Temporal\.Now\b|^console\.time|^Intl\.DateTimeFormat\.now\b/,
    'clock',
    CLOCK,
  ],
  [
    /^(?:setTimeout|setInterval|setImmediate|queueMicrotask|requestIdleCallback|requestAnimationFrame)\b/,
    'moved-work',
    MOVED,
  ],
  [
    /^(?:Worker|SharedWorker|SharedArrayBuffer|Atomics|MessageChannel|BroadcastChannel|WebAssembly|fetch|XMLHttpRequest|WebSocket|EventSource|FinalizationRegistry|WeakRef)\b/,
    'moved-work',
    MOVED,
  ],
  [
    /^(?:localStorage|sessionStorage|indexedDB|caches|Symbol\.for)\b/,
    'shared-registry',
    'keeps values across calls and modules',
  ],
  [
    /^arguments\.(?:callee|caller)\b|\.(?:caller|callee)$|^Error\.(?:captureStackTrace|prepareStackTrace|stackTraceLimit)\b|^<error>\.(?:stack|\?)|^console\.trace\b|\.getCallSites?$/,
    'call-stack',
    STACK,
  ],
  [/^eval\b/, 'dynamic-code', TEXT],
];

const FREE_TO_TEST = new Set(['typeof']);

function named({ chain, usage }: Access): Verdict | null {
  if (chain.length === 1 && FREE_TO_TEST.has(usage)) return null;
  const text = chain.join('.');
  const found = NAMES.find(([pattern]) => pattern.test(text));
  return found === undefined ? null : { rule: found[1], because: found[2] };
}

const NEVER_HANDED_ON = new Set(['process', 'globalThis', 'module', 'require', 'performance', 'import.meta']);

/** A whole object of secrets given to something that the checks do not follow. */
function handedOn({ chain, usage }: Access): Verdict | null {
  const [root = ''] = chain;
  if (chain.length > 1 || !NEVER_HANDED_ON.has(root)) return null;
  if (usage === 'call' || usage === 'typeof' || usage === 'alias') return null;
  return { rule: 'hidden-name', because: 'is handed on as a whole, where its use cannot be checked' };
}

function called({ chain, usage, call }: Access): Verdict | null {
  const text = chain.join('.');
  const args = call === null ? [] : (call.get('arguments') as NodePath[]);
  if (usage === 'argument') return reflected(chain, call);
  if (usage !== 'call' && usage !== 'new') return null;
  if (text === 'Date' && args.length === 0) return { rule: 'clock', because: CLOCK };
  if (text === 'Function') return { rule: 'dynamic-code', because: TEXT };
  const makesCode = chain.length > 1 && chain.at(-1) === 'constructor';
  if (makesCode && (chain[0] === PROTOTYPE || chain[0] === CONSTRUCTOR))
    return { rule: 'dynamic-code', because: TEXT };
  if (text === CONSTRUCTOR && isMadeOfText(call, args)) return { rule: 'dynamic-code', because: TEXT };
  if (text === 'require' && args[0] !== undefined && constantText(args[0]) === null) {
    return { rule: 'hidden-name', because: 'loads a module whose name cannot be checked' };
  }
  return null;
}

function reflected(chain: Chain, call: NodePath | null): Verdict | null {
  const callee = call === null ? [] : chainsOf(call.get('callee') as NodePath).map((each) => each.join('.'));
  const constructs = callee.some((each) => each === 'Reflect.construct' || each === 'Reflect.apply');
  if (!constructs) return null;
  if (chain.join('.') === 'Date') return { rule: 'clock', because: CLOCK };
  return chain.join('.') === 'Function' ? { rule: 'dynamic-code', because: TEXT } : null;
}

function isMadeOfText(call: NodePath | null, args: readonly NodePath[]): boolean {
  const callee = call?.get('callee') as NodePath | undefined;
  const owner = callee?.isMemberExpression() ? (callee.get('object') as NodePath) : null;
  if (owner?.isFunction() === true) return true;
  return args.length > 0 && args.every((each) => constantText(each) !== null);
}
