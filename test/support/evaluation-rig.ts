/** The evaluate station over a real engine and a real mirror, for subjects written by the test or made of real packages. */
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import type { Effect } from '../../src/domain/effect.js';
import type { Evaluation } from '../../src/domain/evaluation.js';
import type { ModuleBenchmark, Patch } from '../../src/domain/plan.js';
import type { RepositorySettings } from '../../src/domain/settings.js';
import { createEvaluateStation, type EvaluateStationDeps } from '../../src/evaluator/evaluate-station.js';
import { startRun } from '../../src/machine/run-changes.js';
import { createLocalRepository, type LocalRepository } from './local-repository.js';
import { sampleSettings, sampleTrigger } from './run-samples.js';
import { createSandboxRig, type SandboxRig } from './sandbox-rig.js';

export type Files = ReadonlyMap<string, Buffer | string | null>;

export interface Subject {
  /** First commit. */
  readonly files: Files;
  readonly benchmarkPath: string;
  readonly entry: string;
  readonly settings?: Partial<RepositorySettings>;
  readonly benchmark?: Partial<ModuleBenchmark>;
}

export interface CommittedSubject {
  readonly repository: LocalRepository;
  readonly baseCommit: string;
  readonly settings: RepositorySettings;
  readonly benchmark: ModuleBenchmark;
  /** The patch that writes `files` over the base; null deletes. */
  patchOf(files: Files): Patch;
}

export interface EvaluationRig {
  readonly rig: SandboxRig;
  /** Progress lines of all evaluations, oldest first. */
  readonly lines: string[];
  commit(subject: Subject): CommittedSubject;
  /** Evaluates a patch; `run` keeps workspaces and remembered base tests apart. */
  evaluate(subject: CommittedSubject, patch: Patch, run?: string): Promise<Evaluation>;
  close(): Promise<void>;
}

const SECONDS = 1000;

export function createEvaluationRig(
  options: EvaluateStationDeps['options'] = {},
  registryUrl?: string,
): EvaluationRig {
  const rig = createSandboxRig(registryUrl === undefined ? {} : { registryUrl });
  const station = createEvaluateStation({ sandbox: rig.sandbox, mirror: rig.mirror, options });
  const repositories: LocalRepository[] = [];
  const lines: string[] = [];
  return {
    rig,
    lines,
    commit(subject) {
      const committed = commitSubject(subject);
      repositories.push(committed.repository);
      return committed;
    },
    async evaluate(subject, patch, run = randomUUID().slice(0, 12)) {
      const event = await station(effectOf(subject, patch, run), {
        signal: new AbortController().signal,
        now: Date.now,
        progress: (line) => lines.push(line),
      });
      if (event?.type === 'EVALUATION_PASSED') return event.evaluation;
      if (event?.type === 'EVALUATION_FAILED') return event.failure;
      throw new Error(`The station answered ${event?.type}.`);
    },
    async close() {
      for (const repository of repositories) repository.remove();
      await rig.close();
    },
  };
}

function commitSubject(subject: Subject): CommittedSubject {
  const repository = createLocalRepository(`subject-${randomUUID()}`);
  const write = (files: Files) => {
    for (const [path, content] of files) {
      if (content === null) repository.git('rm', '--quiet', path);
      else repository.write(path, content);
    }
  };
  write(subject.files);
  const baseCommit = repository.commit('base');
  const source = String(subject.files.get(subject.benchmarkPath));
  return {
    repository,
    baseCommit,
    settings: sampleSettings({
      install: { packageManager: 'none', command: null },
      test: null,
      timeouts: {
        installMs: 60 * SECONDS,
        buildMs: 60 * SECONDS,
        testMs: 60 * SECONDS,
        measureMs: 240 * SECONDS,
      },
      memoryBytes: 512 * 2 ** 20,
      ...subject.settings,
    }),
    benchmark: {
      kind: 'module',
      origin: 'repository',
      path: subject.benchmarkPath,
      source,
      sha256: sha256(source),
      entry: subject.entry,
      heldBack: null,
      ...subject.benchmark,
    },
    patchOf(files) {
      write(files);
      repository.git('add', '--all', '--force');
      const argv = ['-C', repository.directory, 'diff', '--cached', '--binary', '--no-ext-diff', 'HEAD'];
      const diff = execFileSync('git', argv, { encoding: 'utf8' });
      const tree = repository.git('write-tree');
      repository.git('reset', '--quiet', '--hard', baseCommit);
      repository.git('clean', '-fdq');
      const changed = [...files.keys()].map((path) => ({ path, additions: 1, deletions: 1 }));
      return { baseCommit, tree, diff, digest: sha256(diff), files: changed, summary: '' };
    },
  };
}

function effectOf(subject: CommittedSubject, patch: Patch, run: string): Effect<'evaluate'> {
  const { ref } = subject.repository;
  const trigger = sampleTrigger({ repository: ref, baseCommit: subject.baseCommit });
  const started = startRun({ type: 'RUN_REQUESTED', run, trigger, at: 0, rev: 1 });
  const { settings, benchmark } = subject;
  return {
    key: `${run}:evaluate:1`,
    kind: 'evaluate',
    repository: ref,
    payload: { run: { ...started, settings, benchmark, patch }, state: 'evaluating' },
    createdAt: 0,
    attempt: 1,
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
