import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

const HARNESS = fileURLToPath(new URL('../../sandbox/harness/observe.mjs', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'hasten-harness-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let count = 0;
const answerSchema = z.looseObject({ nonce: z.string(), ok: z.boolean() });

/** Runs the harness as the sandbox does, on the host: the benchmark's source and what it imports as `subject`. */
function harness(source: string, request: Record<string, unknown> = {}, subject = 'export const one = 1;') {
  const folder = join(directory, String(count++));
  mkdirSync(folder);
  writeFileSync(join(folder, 'subject.mjs'), subject);
  writeFileSync(join(folder, 'bench.mjs'), source);
  const result = spawnSync(process.execPath, [HARNESS], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 20_000,
    input: JSON.stringify({
      nonce: 'secret-7',
      mode: 'checksum',
      benchmark: join(folder, 'bench.mjs'),
      entry: join(folder, 'subject.mjs'),
      workload: null,
      warmupCpuMs: 20,
      batchCpuMs: 2,
      batches: 3,
      ...request,
    }),
  });
  const answers = result.stdout
    .split('\n')
    .filter((line) => line.includes('"secret-7"'))
    .map((line) => answerSchema.parse(JSON.parse(line)));
  return { ...result, answers, answer: answers[0] };
}

const observe = { mode: 'observe', workload: 'run' };

describe('the harness', () => {
  it('gives the benchmark its entry as third argument and answers with hash and preview of the checksum', () => {
    const { answer } = harness(
      `const { one } = await import(process.argv[2]);
       export const run = () => one; export const checksum = () => 'sum ' + one + process.argv.length;`,
    );
    expect(answer).toMatchObject({ ok: true, workloads: ['run'], preview: 'sum 13', length: 6 });
    expect(answer?.checksum).toMatch(/^[0-9a-f]{64}$/);
  });

  it('takes the result of each workload for the checksum where the benchmark exports none', () => {
    const { answer } = harness('export const workloads = { a: () => 1, b: async () => "two" };');
    expect(answer).toMatchObject({ ok: true, workloads: ['a', 'b'], preview: 'a=1\nb=two\n' });
  });

  it.each([
    ['undefined', 'export function run() {} export function checksum() {}', 'gave undefined'],
    ['NaN', 'export function run() {} export const checksum = () => 0 / 0;', 'gave NaN'],
    ['an object', 'export function run() {} export const checksum = () => ({});', 'gave object'],
    ['null', 'export const run = () => null;', 'gave null'],
    [
      'a rejection',
      'export function run() {} export async function checksum() { throw new Error("no sum"); }',
      'no sum',
    ],
  ])('refuses %s as a checksum', (_, source, message) => {
    expect(harness(source).answer).toMatchObject({
      ok: false,
      stage: 'checksum',
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ['no workload', 'export const x = 1;', 'neither a function "run"'],
    ['an empty list', 'export const workloads = {};', 'is empty'],
    ['a workload that is no function', 'export const workloads = { a: 1 };', '"a" is not a function'],
    ['a syntax error', 'export const = 1;', 'SyntaxError'],
    ['a missing import', 'import "./gone.mjs";', 'gone.mjs'],
    ['an error while loading', 'throw new Error("at load");', 'at load'],
  ])('says so for a benchmark with %s', (_, source, message) => {
    expect(harness(source).answer).toMatchObject({
      ok: false,
      stage: 'load',
      message: expect.stringContaining(message),
    });
  });

  it('measures CPU time per operation after its warm-up', () => {
    const work = (n: number) =>
      `let x = 0; export function run() { for (let i = 0; i < ${n}; i++) x = (x * 31 + i) | 0; return x; }`;
    const small = harness(work(20_000), observe).answer;
    const large = harness(work(2_000_000), observe).answer;
    expect(small).toMatchObject({ ok: true });
    expect(Number(large?.cpuNsPerOp) / Number(small?.cpuNsPerOp)).toBeGreaterThan(20);
    expect(Number(small?.processCpuUs)).toBeGreaterThan(20_000);
    expect(Number(small?.batch)).toBeGreaterThan(1);
  });

  it('waits for asynchronous workloads', () => {
    const { answer } = harness(
      `let open = 0, most = 0;
       export async function run() { open++; most = Math.max(most, open); await null; for (let i = 0; i < 1e4; i++); open--; if (most > 1) throw new Error('overlap'); return 1; }`,
      observe,
    );
    expect(answer).toMatchObject({ ok: true });
    expect(Number(answer?.cpuNsPerOp)).toBeGreaterThan(1000);
  });

  it('reports an error of the workload, and one that is not there', () => {
    expect(harness('export function run() { throw new TypeError("bad"); }', observe).answer).toMatchObject({
      ok: false,
      stage: 'run',
      message: expect.stringContaining('bad'),
    });
    expect(harness('export function run() {}', { ...observe, workload: 'other' }).answer).toMatchObject({
      ok: false,
    });
  });

  it('keeps its clocks, its built-ins and its nonce when the subject replaces or looks for them', () => {
    const hostile = `
      import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';
      const seen = [process.argv.join(), JSON.stringify(process.env), fs.readFileSync('/proc/self/cmdline', 'utf8')].join();
      process.cpuUsage = () => ({ user: 1, system: 0 });
      process.hrtime.bigint = () => 5n;
      Math.round = Math.max = () => 1;
      JSON.stringify = () => '"forged"';
      Object.entries = () => [['run', () => 0]];
      Object.prototype.toJSON = () => 'forged';
      Array.prototype[Symbol.iterator] = function* () { yield ['run', () => 0]; };
      Number.isNaN = () => false;
      fs.writeSync = () => { throw new Error('no'); };
      syncBuiltinESMExports();
      process.on('exit', () => process.stdout.write('{"nonce":"secret-7","ok":true,"cpuNsPerOp":1}\\n'));
      export const leaked = seen.includes('secret-7');`;
    const bench = `const { leaked } = await import(process.argv[2]);
      let x = 0;
      export function run() { for (let i = 0; i < 300000; i++) x = (x * 31 + i) | 0; if (leaked) throw new Error('leaked'); return x; }`;
    const { answers, answer } = harness(bench, observe, hostile);
    expect(answers).toHaveLength(1);
    expect(answer).toMatchObject({ ok: true });
    expect(Number(answer?.cpuNsPerOp)).toBeGreaterThan(50_000);
  });

  it('gives no answer for a subject that ends the process', () => {
    const { answers, status } = harness('export function run() { process.exit(0); }', observe);
    expect(answers).toEqual([]);
    expect(status).toBe(0);
  });
});
