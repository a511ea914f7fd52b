/** Benchmarks that are commands or tools, in real arms: what they are measured by, compared by and refused for. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Benchmark, ModuleBenchmark } from '../../src/domain/plan.js';
import type { Workspace } from '../../src/domain/sandbox.js';
import { createArmSession } from '../../src/evaluator/arm-session.js';
import { frozenOverlay } from '../../src/evaluator/evaluation-context.js';
import { measure } from '../../src/evaluator/measure.js';
import { observedArm } from '../../src/evaluator/observers/benchmark-observer.js';
import type { ComparedArms } from '../../src/evaluator/observers/compared-benchmark.js';
import { checkSameOutput } from '../../src/evaluator/output-step.js';
import { createLocalRepository, type LocalRepository } from '../support/local-repository.js';
import { createSandboxRig, type SandboxRig } from '../support/sandbox-rig.js';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const signal = new AbortController().signal;
let rig: SandboxRig;
let repository: LocalRepository;
let baseCommit: string;
let base: Workspace;
let copy: Workspace;

const BUSY = 'import sys\nx = 0\nfor i in range(ROUNDS):\n    x = (x * 31 + i) % 1000003\nprint(x and 1)\n';
const SUM =
  'function slow(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 31 + i) % 1000003; return x; }\n';
const files = {
  'sum.mjs': `${SUM}export const sum = slow;\n`,
  'source.ts': 'export const sum = (n: number) => n;\n',
  'busy.py': BUSY.replace('ROUNDS', '900000'),
  'wait.sh': 'sleep 0.12\n',
  'chance.sh': 'date +%s%N\n',
  'report.py':
    'import json\nprint(json.dumps({"parse": {"latency": {"value": 2000}}, "print": {"latency": {"value": 900}}}))\n',
};

const TYPESCRIPT_SOURCE = [
  "import { appendFileSync } from 'node:fs';",
  'const { sum }: { sum: (n: number) => number } = await import(process.argv[2] as string);',
  "appendFileSync('/tmp/processes', String(process.pid).concat('\\n'));",
  'export const run = (): number => sum(200_000);',
].join('\n');
const TYPESCRIPT: ModuleBenchmark = {
  kind: 'module',
  origin: 'repository',
  path: 'bench/sum.ts',
  entry: 'sum.mjs',
  source: TYPESCRIPT_SOURCE,
  sha256: '',
  heldBack: null,
};

beforeAll(async () => {
  rig = createSandboxRig();
  repository = createLocalRepository('observers', files);
  baseCommit = repository.commit();
  await rig.mirror.fetch(repository.ref, baseCommit, signal);
  base = await workspace('base', {});
  copy = await workspace('copy', {});
});

afterAll(async () => {
  await rig.close();
  repository.remove();
});

async function workspace(name: string, changes: Record<string, string>): Promise<Workspace> {
  const install = { packageManager: 'none', command: null } as const;
  const overlay = new Map([...(await frozenOverlay(TYPESCRIPT)), ...Object.entries(changes)]);
  const spec = { run: randomUUID().slice(0, 8), name, repository: repository.ref, baseCommit, tree: null };
  return rig.sandbox.prepare({ ...spec, install, overlay }, signal);
}

async function inArms<T>(patch: Record<string, string>, work: (arms: ComparedArms) => Promise<T>) {
  const workspaces = { base, copy, patch: await workspace('patch', patch) };
  const session = createArmSession(rig.sandbox, workspaces, rig.sandbox.measurementCpuset(), signal);
  try {
    return await work(await session.renew());
  } finally {
    await session.close();
    await rig.sandbox.discard(workspaces.patch.run);
  }
}

const command = (source: string): Benchmark => ({
  kind: 'command',
  origin: 'repository',
  source,
  sha256: '',
});
const request = (benchmark: Benchmark, timeoutMs = 20_000) => ({ benchmark, nonce: randomUUID, timeoutMs });

function compared(benchmark: Benchmark, patch: Record<string, string>, timeoutMs?: number) {
  return inArms(patch, (arms) => checkSameOutput(arms, request(benchmark, timeoutMs)));
}

function measured(benchmark: Benchmark, patch: Record<string, string>) {
  return inArms(patch, async (arms) => {
    const found = await checkSameOutput(arms, request(benchmark));
    const measurement = await measure({
      arms,
      workloads: found.workloads,
      observer: found.observer,
      minimumEffect: 0.05,
      memoryGrowth: 0.2,
      seed: 'seed',
      timeLimitMs: 60_000,
      environment: { runtime: 'runc', imageId: 'sha256:1', cpuset: '0' },
      load: () => 0,
      now: Date.now,
      progress: () => {},
      signal,
    });
    return { found, measurement };
  });
}

describe('a command', () => {
  it('is judged by the CPU time of its process tree, whatever its language', async () => {
    const faster = { 'busy.py': BUSY.replace('ROUNDS', '300000') };
    const { found, measurement } = await measured(command('python3 busy.py'), faster);
    expect(found.summary).toContain('prints the same on base and patch');
    expect(measurement).toMatchObject({ verdict: 'faster', environment: { node: null } });
    const [run] = measurement.workloads;
    expect(run?.name).toBe('run');
    expect(run?.speedup).toBeGreaterThan(1.5);
    expect(run?.baseMs).toBeGreaterThan(20);
    expect(run?.costs.map(({ cost }) => cost)).toContain('peak-memory');
  });

  it('is judged by wall time where it waits, and says so', async () => {
    const { measurement } = await measured(command('sh wait.sh'), { 'wait.sh': 'sleep 0.03\n' });
    expect(measurement).toMatchObject({
      verdict: 'faster',
      metric: 'wall-time',
      reason: expect.stringContaining('The command waits: it uses the CPU for'),
    });
    expect(measurement.workloads[0]?.baseMs).toBeGreaterThan(119);
  });

  it('is refused with the place where its output changed', async () => {
    const changed = { 'busy.py': `${BUSY.replace('ROUNDS', '10')}print("more")\n` };
    await expect(compared(command('python3 busy.py'), changed)).rejects.toMatchObject({
      code: 'OUTPUT_CHANGED',
      evidence: expect.stringContaining('"1\\nmore\\n"'),
    });
  });

  it('is not compared where its output differs on the base itself', async () => {
    expect(await compared(command('sh chance.sh'), {})).toMatchObject({
      output: 'not-compared',
      summary: expect.stringContaining('differs between two runs of the base'),
    });
  });

  it('finds the workspace read-only and its temporary folder empty in every run', async () => {
    const source =
      'ls /tmp /dev/shm | sort; echo x > /tmp/kept; echo x > /dev/shm/kept; touch here 2>/dev/null || echo no';
    expect(await compared(command(source), {})).toMatchObject({ output: 'same' });
    await expect(
      compared(command('test ! -e /tmp/kept && touch /tmp/kept && test -e here'), {}),
    ).rejects.toThrow(/gave 1 on the base/);
  });

  it.each([
    [
      'fails',
      'exit 7',
      { code: 'BENCHMARK_FAILED', message: expect.stringContaining('gave 7 on the patch') },
    ],
    [
      'leaves a process behind',
      'sleep 50 >/dev/null 2>&1 &',
      { message: expect.stringContaining('left a process running') },
    ],
    ['does not end in time', 'while :; do :; done', { message: expect.stringContaining('deadline') }],
  ])('is refused on a patch that %s', async (_, script, error) => {
    const benchmark = command('sh -c "sh wait.sh; exit 0" && sh wait.sh');
    await expect(compared(benchmark, { 'wait.sh': `${script}\n` }, 4000)).rejects.toMatchObject(error);
  });

  it('is charged for work that it moves out of its own process tree', async () => {
    const moved = {
      'busy.py':
        'import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        exec(open("real.py").read())\n    os._exit(0)\nos.wait()\nprint(1)\n',
      'real.py': BUSY.replace('ROUNDS', '900000').replace('print(x and 1)', 'import os; os._exit(0)'),
    };
    const samples = await inArms(moved, async (arms) => {
      const { observer, workloads } = await checkSameOutput(arms, request(command('python3 busy.py')));
      const sample = async (name: 'base' | 'patch') =>
        (await observer.observe(await observedArm(name, arms[name]), workloads)).samples.get('run');
      return { base: await sample('base'), patch: await sample('patch') };
    });
    expect(samples.patch?.msPerOp).toBeGreaterThan(0.6 * (samples.base?.msPerOp ?? Number.NaN));
  });
});

describe('a module', () => {
  const module = (entry: string): Benchmark => ({ ...TYPESCRIPT, entry });

  it('may be TypeScript, and runs in a fresh process for each observation', async () => {
    const processes = await inArms({}, async (arms) => {
      const { observer, workloads } = await checkSameOutput(arms, request(module('sum.mjs')));
      for (let i = 0; i < 2; i++) await observer.observe(await observedArm('base', arms.base), workloads);
      return (await arms.base.exec(['cat', '/tmp/processes'], { timeoutMs: 10_000 })).stdout.text;
    });
    const ids = processes.trim().split('\n');
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(3);
  });

  it('says to name a built entry where it would load TypeScript of the repository', async () => {
    await expect(compared(module('source.ts'), {})).rejects.toMatchObject({
      message: expect.stringContaining('name a built entry'),
    });
  });

  it('is not faster where the patch moves its work to loading', async () => {
    const early = `const known = []; for (let i = 0; i < 60; i++) known.push(slow(200_000));\n${SUM}export const sum = () => known[0];\n`;
    const { measurement } = await measured(module('sum.mjs'), { 'sum.mjs': early });
    expect(measurement).toMatchObject({
      verdict: 'inconclusive',
      reason: expect.stringMatching(/is paid for: on "run" loading takes \d+ ms instead of/),
    });
  });
});

describe('a module that waits', () => {
  it('is not faster, although it needs less CPU time', async () => {
    const wait = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4);';
    const sleeping = `${SUM}const known = slow(200_000);\nexport const sum = () => { slow(70_000); ${wait} return known; };\n`;
    const { measurement } = await measured(TYPESCRIPT, { 'sum.mjs': sleeping });
    // Why is told by unit tests: on a busy machine the control may veto before wall time does.
    expect(measurement.verdict).toBe('inconclusive');
  });
});

describe('the report of a tool', () => {
  const report = (source: string, format: 'bencher' | 'hyperfine', file: string | null): Benchmark => ({
    ...command(source),
    kind: 'report',
    format,
    file,
  });

  it('gives all benchmarks of one run, from standard output', async () => {
    const faster = { 'report.py': files['report.py'].replace('2000', '1000') };
    const { found, measurement } = await measured(report('python3 report.py', 'bencher', null), faster);
    expect(found).toMatchObject({ workloads: ['parse', 'print'], output: 'not-compared' });
    expect(measurement).toMatchObject({ verdict: 'faster', metric: 'reported' });
    expect(measurement.workloads.map(({ verdict, speedup }) => [verdict, speedup])).toEqual([
      ['faster', 2],
      ['no-change', 1],
    ]);
    expect(measurement.runs).toBe(2 * (measurement.workloads[0]?.pairs ?? 0) + 6);
  });

  it('is read from the file that the tool wrote', async () => {
    const run = "hyperfine -N -r 3 --export-json /tmp/report.json 'sh wait.sh' >&2";
    const { measurement } = await measured(report(run, 'hyperfine', '/tmp/report.json'), {
      'wait.sh': 'sleep 0.03\n',
    });
    expect(measurement).toMatchObject({ verdict: 'faster', metric: 'reported' });
    expect(measurement.workloads[0]?.name).toContain('sh wait.sh');
  });

  it.each([
    ['was not written', 'true', /did not write the file .*only \/tmp can be written/],
    ['cannot be read', 'echo "{" > /tmp/report.json', /line 2|line 1/],
  ])('is refused when it %s', async (_, source, message) => {
    await expect(compared(report(source, 'hyperfine', '/tmp/report.json'), {})).rejects.toThrow(message);
  });

  it('is refused when base and patch do not list the same benchmarks', async () => {
    const fewer = { 'report.py': files['report.py'].replace('"print"', '"show"') };
    await expect(compared(report('python3 report.py', 'bencher', null), fewer)).rejects.toMatchObject({
      code: 'WORKLOADS_CHANGED',
    });
  });
});
