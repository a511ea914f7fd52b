// Runs inside the sandbox, one fresh process: loads a benchmark module as observe.mjs does, warms it up, and records a CPU
// profile of its workloads. The answer is one line on standard output with the hottest functions by what they used
// themselves. It is evidence for planning, never a figure that decides, so nothing here is guarded against the subject
// beyond the nonce; the host takes every name for hostile.
import fs from 'node:fs';
import inspector from 'node:inspector';
import { fileURLToPath, pathToFileURL } from 'node:url';

const MAX_FUNCTIONS = 20;
const SAMPLING_US = 200;
const HARNESS_URL = import.meta.url;
const LEFT_OUT = new Set(['(idle)', '(root)', 'dispatch']);

const request = JSON.parse(fs.readFileSync(0, 'utf8'));
const { nonce, benchmark, entry, workspace } = request;
process.argv = [process.argv[0], benchmark, entry];
const writeSync = fs.writeSync;
const exit = process.reallyExit.bind(process);

function answer(members) {
  const bytes = Buffer.from(`${JSON.stringify({ nonce, ...members })}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
  exit(0);
}

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Calls in growing groups until the CPU time is spent, so that asking for the time is no part of the picture; at least once. */
async function spend(fn, budgetMs) {
  const end = cpuMs() + budgetMs;
  let group = 1;
  for (let now = cpuMs(); now < end || group === 1; ) {
    for (let i = 0; i < group; i++) {
      const pending = fn();
      if (typeof pending?.then === 'function') await pending;
    }
    const before = now;
    now = cpuMs();
    if (now - before < 2) group *= 2;
    else if (now >= end) break;
  }
}

function post(session, method, parameters) {
  return new Promise((resolve, reject) => {
    session.post(method, parameters, (error, result) => (error ? reject(error) : resolve(result)));
  });
}

async function record(workloads) {
  const session = new inspector.Session();
  session.connect();
  await post(session, 'Profiler.enable');
  await post(session, 'Profiler.setSamplingInterval', { interval: SAMPLING_US });
  await post(session, 'Profiler.start');
  for (const fn of workloads) await spend(fn, request.recordCpuMs / workloads.length);
  const { profile } = await post(session, 'Profiler.stop');
  session.disconnect();
  return profile;
}

/** Where a function stands: from the root of the repository, or the module's address for what is not of it. */
function fileOf(url, name) {
  if (url === '') return name.startsWith('(') ? name : '(native)';
  if (!url.startsWith('file:') && !url.startsWith('/')) return url;
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  return path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path;
}

/** What is no work: idling, and this recording itself. */
function isOwn(url, name) {
  return url === HARNESS_URL || (url === '' && LEFT_OUT.has(name));
}

/** All nodes of one function as one, hottest first. */
function hottest(profile) {
  const samples = new Map();
  for (const id of profile.samples ?? []) samples.set(id, (samples.get(id) ?? 0) + 1);
  const functions = new Map();
  let total = 0;
  for (const node of profile.nodes) {
    const self = samples.get(node.id) ?? 0;
    const { functionName, url, lineNumber, columnNumber } = node.callFrame;
    if (self === 0 || isOwn(url, functionName)) continue;
    total += self;
    const key = `${functionName}\n${url}\n${lineNumber}\n${columnNumber}`;
    const known = functions.get(key) ?? {
      name: functionName === '' ? '(anonymous)' : functionName,
      file: fileOf(url, functionName),
      line: lineNumber >= 0 && url !== '' ? lineNumber + 1 : 0,
      self: 0,
    };
    known.self += self;
    functions.set(key, known);
  }
  return [...functions.values()]
    .sort((a, b) => b.self - a.self)
    .slice(0, MAX_FUNCTIONS)
    .map(({ self, ...place }) => ({ ...place, share: self / total }));
}

try {
  const module = await import(pathToFileURL(benchmark).href);
  const workloads = module.workloads === undefined ? [module.run] : Object.values(module.workloads);
  for (const fn of workloads) await spend(fn, request.warmupCpuMs / workloads.length);
  answer({ ok: true, functions: hottest(await record(workloads)) });
} catch (error) {
  answer({ ok: false, message: String(error?.stack ?? error).slice(0, 2000) });
}
