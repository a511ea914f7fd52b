// Runs inside the sandbox, one fresh process per call: loads a benchmark module and answers with its checksum, or with
// one observation of one workload (CPU time per operation after a warm-up by CPU time). The request comes as JSON on
// standard input, so that the nonce is neither in argv nor in the environment; the answer is one line on standard
// output. Clocks and built-ins are taken before the subject is loaded, lists are walked by index and the answer is put
// together without any method or iterator that the subject could have replaced.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';

const readAll = fs.readFileSync;
const writeSync = fs.writeSync;
const cpuUsage = process.cpuUsage;
const resourceUsage = process.resourceUsage;
const wallClock = process.hrtime.bigint;
const exit = process.reallyExit.bind(process);
const stringify = JSON.stringify;
const round = Math.round;
const isNotANumber = Number.isNaN;
const max = Math.max;
const entriesOf = Object.entries;
const NumberOf = Number;
const StringOf = String;
const sha256 = createHash('sha256');
const hashUpdate = sha256.update.bind(sha256);
const hashDigest = sha256.digest.bind(sha256);

const PREVIEW_CHARS = 2000;
const MAX_BATCHES = 50;
// Peak memory is read after as many calls on each side. Later it grows with the number of calls, by garbage that nobody
// needs, and a faster side makes more of them in the same time.
const EARLY_CALLS = 4;

const request = JSON.parse(readAll(0, 'utf8'));
const nonce = StringOf(request.nonce);
const { mode, benchmark, entry, workload } = request;
const warmupUs = NumberOf(request.warmupCpuMs) * 1000;
const batchUs = NumberOf(request.batchCpuMs) * 1000;
const batches = NumberOf(request.batches);
if (!(batches >= 1 && batches <= MAX_BATCHES)) throw new RangeError(`batches must be 1 to ${MAX_BATCHES}`);
const batchCpuNs = new Float64Array(batches);
const batchWallNs = new Float64Array(batches);
// The subject sees what it would see if it were started by hand with the entry as its argument.
process.argv = [process.argv[0], benchmark, entry];

/** CPU microseconds of all threads of this process so far, user and system. */
function cpuUs() {
  const used = cpuUsage();
  return used.user + used.system;
}

function answer(members) {
  const line = `{"nonce":${stringify(nonce)},${members},"node":${stringify(process.version)}}\n`;
  let at = 0;
  const bytes = Buffer.from(line);
  while (at < bytes.length) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
  exit(0);
}

function fail(stage, error) {
  const text = error instanceof Error ? `${error.stack ?? error.message}` : StringOf(error);
  const cut = text.length > PREVIEW_CHARS ? `${text.slice(0, PREVIEW_CHARS)}…` : text;
  answer(`"ok":false,"stage":${stringify(stage)},"message":${stringify(cut)}`);
}

/** Name and function pairs: the `workloads` export, else `run`. */
function workloadsOf(module) {
  if (module.workloads !== undefined) {
    const named = entriesOf(module.workloads);
    if (named.length === 0) throw new TypeError('The export "workloads" is empty.');
    for (let i = 0; i < named.length; i++) {
      if (typeof named[i][1] !== 'function')
        throw new TypeError(`The workload "${named[i][0]}" is not a function.`);
    }
    return named;
  }
  if (typeof module.run !== 'function') {
    throw new TypeError(
      'The benchmark exports neither a function "run" nor an object "workloads" of functions.',
    );
  }
  return [['run', module.run]];
}

/** Primitive values as text; what says nothing about the output (undefined, NaN, objects) is refused. */
function textOf(value, from) {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || typeof value === 'bigint') return `${value}`;
  if (typeof value === 'number' && !isNotANumber(value)) return `${value}`;
  const what = typeof value === 'number' ? 'NaN' : value === null ? 'null' : typeof value;
  throw new TypeError(`${from} gave ${what}; a text, number or boolean is needed to compare outputs.`);
}

async function checksumOf(module, named) {
  if (module.checksum !== undefined) {
    if (typeof module.checksum !== 'function')
      throw new TypeError('The export "checksum" is not a function.');
    return textOf(await module.checksum(), 'checksum()');
  }
  let all = '';
  for (let i = 0; i < named.length; i++) {
    all += `${named[i][0]}=${textOf(await named[i][1](), `The workload "${named[i][0]}"`)}\n`;
  }
  return all;
}

async function load(stage) {
  const cpuBefore = cpuUs();
  const wallBefore = wallClock();
  try {
    const module = await import(pathToFileURL(benchmark).href);
    const named = workloadsOf(module);
    return {
      module,
      named,
      importCpuUs: cpuUs() - cpuBefore,
      importWallNs: NumberOf(wallClock() - wallBefore),
    };
  } catch (error) {
    return fail(stage, withTypeScriptHint(error));
  }
}

/** Node says that it does not know the file, or does not find the JavaScript beside it: what to do is not in its words. */
function withTypeScriptHint(error) {
  if (!(error instanceof Error)) return error;
  const isUnknown = error.code === 'ERR_UNKNOWN_FILE_EXTENSION';
  const missing = error.code === 'ERR_MODULE_NOT_FOUND' && typeof error.url === 'string' ? error.url : '';
  const source = missing.replace(/\.(m?)js$/, '.$1ts');
  if (!isUnknown && (source === missing || !fs.existsSync(new URL(source)))) return error;
  const hint =
    'The benchmark loads TypeScript of the repository, which Node cannot run: name a built entry, and the command that builds it.';
  return new Error(`${hint} (${error.message})`);
}

async function answerChecksum() {
  const { module, named } = await load('load');
  let checksum;
  try {
    checksum = await checksumOf(module, named);
  } catch (error) {
    return fail('checksum', error);
  }
  let names = '';
  for (let i = 0; i < named.length; i++) names += `${i === 0 ? '' : ','}${stringify(named[i][0])}`;
  hashUpdate(checksum);
  const preview = checksum.length > PREVIEW_CHARS ? checksum.slice(0, PREVIEW_CHARS) : checksum;
  return answer(
    `"ok":true,"workloads":[${names}],"checksum":"${hashDigest('hex')}",` +
      `"length":${checksum.length},"preview":${stringify(preview)}`,
  );
}

// Keeps the last result alive, so that no call can be optimised away.
let sink;

function callMany(fn, times) {
  for (let i = 0; i < times; i++) sink = fn();
}

async function awaitMany(fn, times) {
  for (let i = 0; i < times; i++) sink = await fn();
}

/**
 * Calls in growing groups until the CPU budget is spent, which began at `start` with the early calls; microseconds per call
 * over the second half of it.
 */
async function warmUp(repeat, fn, start) {
  let now = cpuUs();
  let calls = EARLY_CALLS;
  let group = 1;
  let halfAt = now - start >= warmupUs / 2 ? now : -1;
  let callsAtHalf = calls;
  while (now - start < warmupUs) {
    const before = now;
    const pending = repeat(fn, group);
    if (pending !== undefined) await pending;
    calls += group;
    now = cpuUs();
    if (now - before < 1000) group *= 2;
    if (halfAt < 0 && now - start >= warmupUs / 2) {
      halfAt = now;
      callsAtHalf = calls;
    }
  }
  return calls > callsAtHalf ? (now - halfAt) / (calls - callsAtHalf) : (now - start) / calls;
}

async function answerObservation() {
  const loaded = await load('load');
  let fn;
  for (let i = 0; i < loaded.named.length; i++) if (loaded.named[i][0] === workload) fn = loaded.named[i][1];
  if (fn === undefined) return fail('load', new TypeError(`The benchmark has no workload "${workload}".`));
  try {
    const firstStart = wallClock();
    const firstCpu = cpuUs();
    sink = fn();
    const isAsync = sink !== null && typeof sink === 'object' && typeof sink.then === 'function';
    if (isAsync) sink = await sink;
    const firstCallCpuUs = cpuUs() - firstCpu;
    const firstCallNs = NumberOf(wallClock() - firstStart);
    const repeat = isAsync ? awaitMany : callMany;
    const early = repeat(fn, EARLY_CALLS - 1);
    if (early !== undefined) await early;
    const earlyRssKb = resourceUsage().maxRSS;
    const perOpUs = await warmUp(repeat, fn, firstCpu);
    const batch = max(1, round(batchUs / perOpUs));
    let best = -1;
    for (let i = 0; i < batches; i++) {
      const wall = wallClock();
      const cpu = cpuUs();
      const pending = repeat(fn, batch);
      if (pending !== undefined) await pending;
      batchCpuNs[i] = ((cpuUs() - cpu) * 1000) / batch;
      batchWallNs[i] = NumberOf(wallClock() - wall) / batch;
      if (best < 0 || batchCpuNs[i] < best) best = batchCpuNs[i];
    }
    return answer(
      `"ok":true,"cpuNsPerOp":${best},"wallNsPerOp":${smallest(batchWallNs)},"batch":${batch},` +
        `"firstCallNs":${firstCallNs},"firstCallCpuUs":${firstCallCpuUs},"importCpuUs":${loaded.importCpuUs},"importWallNs":${loaded.importWallNs},` +
        `"earlyRssKb":${earlyRssKb},"maxRssKb":${resourceUsage().maxRSS},"processCpuUs":${cpuUs()}`,
    );
  } catch (error) {
    return fail('run', error);
  }
}

function smallest(values) {
  let least = values[0];
  for (let i = 1; i < batches; i++) if (values[i] < least) least = values[i];
  return least;
}

if (mode === 'checksum') await answerChecksum();
else if (mode === 'observe') await answerObservation();
else fail('request', new TypeError(`Unknown mode "${mode}"; known: checksum, observe.`));
