/** The gate live on published packages before and after a known change, and on the slow version against itself. */
import { randomUUID } from 'node:crypto';
import { measureSides } from '../../src/compare/measure-sides.js';
import type { Measurement, Verdict } from '../../src/domain/evaluation.js';
import type { ModuleBenchmark } from '../../src/domain/plan.js';
import type { Workspace } from '../../src/domain/sandbox.js';
import { readRegistryUrl } from '../../src/sandbox/registry-url.js';
import { createLocalRepository, type LocalRepository } from '../support/local-repository.js';
import { type CaseRepository, materialise, type NpmCase } from '../support/npm-case.js';
import { sampleSettings } from '../support/run-samples.js';
import { createSandboxRig, type SandboxRig } from '../support/sandbox-rig.js';

export interface CaseRow {
  /** Of the case; with ` (A/A)` where the slow version was measured against itself. */
  readonly id: string;
  readonly expected: NpmCase['expected'];
  /** Null when the measurement could not be made; `reason` says why. */
  readonly verdict: Verdict | null;
  /** Base time over fix time. */
  readonly ratio: number | null;
  readonly interval: readonly [number, number] | null;
  readonly pairs: number;
  /** From open containers to the verdict. */
  readonly seconds: number;
  readonly reason: string;
}

/** A measurement that is not decided by then is inconclusive. */
const MEASURE_MS = 5 * 60 * 1000;
/** Against itself the slow version is as slow on both sides, and may take forty pairs. */
const ITSELF_MS = 2 * 60 * 1000;

/** Measures all cases one after another; `tell` gets each row as it is there. */
export async function caseRows(
  cases: readonly NpmCase[],
  tell: (row: CaseRow) => void,
): Promise<readonly CaseRow[]> {
  const rig = createSandboxRig({ registryUrl: await readRegistryUrl(process.env) });
  const rows: CaseRow[] = [];
  const add = (row: CaseRow) => {
    rows.push(row);
    tell(row);
  };
  try {
    for (const subject of cases) {
      const made = await materialise(subject);
      const repository = createLocalRepository(`case-${subject.id}`);
      try {
        const versions = commitVersions(repository, made);
        add(await rowOf(rig, repository, made, subject.id, subject.expected, versions));
        if (subject.expected !== 'faster') continue;
        const itself = { base: versions.base, head: versions.base, limitMs: ITSELF_MS };
        add(await rowOf(rig, repository, made, `${subject.id} (A/A)`, 'no-change', itself));
      } finally {
        repository.remove();
      }
    }
  } finally {
    await rig.close();
  }
  return rows;
}

interface Versions {
  /** Commits. */
  readonly base: string;
  readonly head: string;
  /** For measuring. */
  readonly limitMs: number;
}

function commitVersions(repository: LocalRepository, made: CaseRepository): Versions {
  for (const [path, content] of made.files) repository.write(path, content);
  const base = repository.commit('base');
  for (const [path, content] of made.fixFiles) repository.write(path, content);
  return { base, head: repository.commit('fix'), limitMs: MEASURE_MS };
}

async function rowOf(
  rig: SandboxRig,
  repository: LocalRepository,
  made: CaseRepository,
  id: string,
  expected: NpmCase['expected'],
  versions: Versions,
): Promise<CaseRow> {
  const started = performance.now();
  try {
    const measurement = await measured(rig, repository, made, versions);
    const [workload] = measurement.workloads;
    return {
      id,
      expected,
      verdict: measurement.verdict,
      ratio: workload?.speedup ?? null,
      interval: workload?.interval ?? null,
      pairs: workload?.pairs ?? 0,
      seconds: measurement.seconds,
      reason: measurement.reason,
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const nothing = { verdict: null, ratio: null, interval: null, pairs: 0 };
    return { id, expected, ...nothing, seconds: (performance.now() - started) / 1000, reason };
  }
}

async function measured(
  { sandbox, mirror }: SandboxRig,
  repository: LocalRepository,
  made: CaseRepository,
  versions: Versions,
): Promise<Measurement> {
  const { signal } = new AbortController();
  const run = randomUUID().slice(0, 12);
  const install = { packageManager: 'npm', command: null } as const;
  const prepare = async (name: string, baseCommit: string): Promise<Workspace> => {
    await mirror.fetch(repository.ref, baseCommit, signal);
    return sandbox.prepare(
      { run, name, repository: repository.ref, baseCommit, tree: null, install },
      signal,
    );
  };
  try {
    const workspaces = {
      base: await prepare('base', versions.base),
      copy: await prepare('copy', versions.base),
      patch: await prepare('patch', versions.head),
    };
    const { ok, detail, imageId, runtime } = await sandbox.check();
    if (!ok || imageId === null) throw new Error(detail);
    const settings = sampleSettings();
    const { measurement } = await measureSides({
      sandbox,
      workspaces,
      benchmark: benchmarkOf(made),
      settings: { ...settings, timeouts: { ...settings.timeouts, measureMs: versions.limitMs } },
      seed: run,
      confirm: false,
      allowDifferentOutput: false,
      environment: { runtime, imageId, cpuset: sandbox.measurementCpuset() },
      progress: () => undefined,
      signal,
    });
    return measurement;
  } finally {
    await sandbox.discard(run);
  }
}

function benchmarkOf(made: CaseRepository): ModuleBenchmark {
  const source = String(made.files.get(made.benchmarkPath));
  const frozen = { origin: 'repository', source, sha256: '' } as const;
  return { kind: 'module', ...frozen, path: made.benchmarkPath, entry: made.entry, heldBack: null };
}
