// Runs inside the sandbox, as a child of differential.mjs: loads one module and calls its functions on inputs made from a
// seed. What a call gave goes out at once, as a line on descriptor 3, so that a crash loses nothing but its own call.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { canonical } from './canonical.mjs';
import { createInputs, randomOf } from './differential-inputs.mjs';

const NOW = 1_700_000_000_000;
const SHOWN_CHARS = 1000;
const MOST_FUNCTIONS = 200;
const FOLLOW_UPS = 3;
const PENDING = Symbol('pending');
const script = new vm.Script('globalThis.__hastenCall()');

const request = JSON.parse(fs.readFileSync(0, 'utf8'));
const { file, seed, chance, plan, from, budgetMs, mostCalls, callMs, details } = request;
const wait = setTimeout;
const cpuUsage = process.cpuUsage;
const exit = process.reallyExit.bind(process);
const emit = (members) => fs.writeSync(3, `${JSON.stringify(members)}\n`);

makeRepeatable();
const inputs = createInputs(request);
process.on('unhandledRejection', () => {});
process.on('uncaughtException', () => {});

let subject;
try {
  subject = await import(pathToFileURL(file).href);
} catch (error) {
  emit({ error: `${error?.name}: ${error?.message}`.slice(0, SHOWN_CHARS) });
  process.exitCode = 0;
  finish();
}
const callables = callablesOf(subject);
if (plan === null) await explore();
else await repeat();
emit({ end: true });
finish();

/** Coverage is written on the way out; the subject's own exit was taken away. */
function finish() {
  process.reallyExit = exit;
  exit(0);
}

/** The same clock on both sides; chance is another on the base's second run, so that functions of chance are found. */
function makeRepeatable() {
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(
        target,
        args.length === 0 ? [NOW] : args,
        newTarget === globalThis.Date ? target : newTarget,
      ),
    apply: () => new RealDate(NOW).toString(),
    get: (target, name) => (name === 'now' ? () => NOW : Reflect.get(target, name)),
  });
  performance.now = () => 1000;
  const refuse = () => {
    throw new Error('The process may not end here.');
  };
  process.exit = refuse;
  process.abort = refuse;
}

/** Functions by name: exports, members of exported objects; each once. Names in order, so that both sides agree. */
function callablesOf(module) {
  const found = new Map();
  const seen = new Set();
  const visit = (owner, prefix, depth) => {
    for (const key of Object.keys(owner).sort()) {
      let value;
      try {
        value = owner[key];
      } catch {
        continue;
      }
      const name = `${prefix}${key}`;
      if (typeof value === 'function') {
        if (!seen.has(value) && found.size < MOST_FUNCTIONS) found.set(name, { fn: value, owner, key });
        seen.add(value);
        if (depth < 1) visit(value, `${name}.`, depth + 1);
      } else if (value !== null && typeof value === 'object' && depth < 1 && !Array.isArray(value)) {
        visit(value, `${name}.`, depth + 1);
      }
    }
  };
  visit(module, '', 0);
  return found;
}

function describe(name, { fn }) {
  const isClass = /^class\b/.test(Function.prototype.toString.call(fn));
  const methods = methodsOf(fn.prototype);
  const described = {
    name,
    own: fn.name,
    arity: fn.length,
    construct: isClass || methods.length > 0,
    methods,
  };
  return { ...described, recorded: inputs.isRecorded(namesOf(described)) };
}

/** What callers write: the last name of an export; a default export goes by its own. */
function namesOf({ name, own }) {
  const last = name.split('.').at(-1);
  return last === 'default' ? [last, own] : [last];
}

function methodsOf(prototype) {
  if (prototype === null || typeof prototype !== 'object') return [];
  return Object.getOwnPropertyNames(prototype)
    .filter((name) => name !== 'constructor' && !name.startsWith('_'))
    .flatMap((name) => {
      const { value } = Object.getOwnPropertyDescriptor(prototype, name);
      return typeof value === 'function' ? [{ name, arity: value.length }] : [];
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function explore() {
  const functions = [...callables].map(([name, callable]) => describe(name, callable));
  if (from === null) emit({ functions });
  const used = () => (cpuUsage().user + cpuUsage().system) / 1000;
  for (let call = from ?? 0; call < mostCalls * functions.length; call++) {
    if (used() > budgetMs) return;
    await runCall(functions, call % functions.length, Math.floor(call / functions.length), call);
  }
}

async function repeat() {
  for (let at = from ?? 0; at < plan.calls.length; at++) {
    const [which, index] = plan.calls[at];
    await runCall(plan.functions, which, index, at);
  }
}

async function runCall(functions, which, index, at) {
  emit({ start: [which, index, at] });
  const outcome = await outcomeOf(functions[which], index);
  const shown = details?.some(([f, i]) => f === which && i === index);
  const text = outcome.text ?? '';
  const digest = createHash('sha256').update(text).digest('base64').slice(0, 16);
  emit({
    done: [which, index, outcome.kind, digest],
    ...(shown ? { input: outcome.input, text: text.slice(0, SHOWN_CHARS) } : {}),
  });
}

async function outcomeOf(described, index) {
  const callable = callables.get(described.name);
  const random = randomOf(`${seed}:${described.name}:${index}`);
  Math.random = randomOf(`${chance}:${described.name}:${index}`);
  const given = inputs.argumentsFor(random, namesOf(described), described.arity, index);
  const outcome = {
    kind: 'threw',
    text: '',
    input: `${described.name}(${given.map(canonical).join(', ')})`.slice(0, SHOWN_CHARS),
  };
  if (callable === undefined) return { ...outcome, kind: 'gone' };
  try {
    const first = limited(() =>
      described.construct && index % 4 !== 3
        ? Reflect.construct(callable.fn, given)
        : callable.owner[callable.key](...given),
    );
    const result = await settled(first);
    const texts = [canonical(result), ...(await followUps(described, result, random, index))];
    // What became of the arguments is part of the answer.
    return { ...outcome, kind: 'returned', text: `${texts.join(' ; ')} ; ${given.map(canonical).join()}` };
  } catch (error) {
    if (error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return { ...outcome, kind: 'endless' };
    if (error === PENDING) return { ...outcome, kind: 'pending' };
    return { ...outcome, text: String(error?.name) };
  }
}

/** An instance's methods, or the function that a function gave, are called in turn. */
async function followUps(described, result, random, index) {
  const texts = [];
  const methods = described.methods;
  if (typeof result === 'function') {
    for (let i = 0; i < 2; i++)
      texts.push(
        await followUp(() => result(...inputs.argumentsFor(random, [], Math.max(1, result.length), index))),
      );
  } else if (result !== null && typeof result === 'object' && described.construct && methods.length > 0) {
    for (let i = 0; i < FOLLOW_UPS; i++) {
      const { name, arity } = methods[Math.floor(random() * methods.length)];
      const given = inputs.argumentsFor(random, [name], arity, index + i);
      texts.push(`${name}: ${await followUp(() => result[name](...given))}`);
    }
    texts.push(canonical(result));
  } else if (typeof result?.next === 'function' && typeof result[Symbol.iterator] === 'function') {
    texts.push(await followUp(() => Array.from({ length: 50 }, () => result.next())));
  }
  return texts;
}

async function followUp(call) {
  try {
    return canonical(await settled(limited(call)));
  } catch (error) {
    if (error === PENDING || error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return 'throws';
  }
}

/** Runs without end are stopped: the engine's own watchdog ends what a flag could not. */
function limited(call) {
  let result;
  Object.defineProperty(globalThis, '__hastenCall', {
    configurable: true,
    enumerable: false,
    value: () => {
      result = call();
    },
  });
  script.runInThisContext({ timeout: callMs });
  return result;
}

async function settled(result) {
  if (result === null || typeof result !== 'object' || typeof result.then !== 'function') return result;
  let timer;
  const late = new Promise((_, reject) => {
    timer = wait(() => reject(PENDING), callMs);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
