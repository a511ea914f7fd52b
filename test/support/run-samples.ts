/** Plain samples of the domain's records, for unit tests of what reads or moves them. */

import type { EffectKind } from '../../src/domain/effect.js';
import type { EvaluationFailed, EvaluationPassed, Measurement } from '../../src/domain/evaluation.js';
import type { MachineEvent } from '../../src/domain/event.js';
import type { ModuleBenchmark, Patch, Plan } from '../../src/domain/plan.js';
import type { RepositoryRef } from '../../src/domain/repository.js';
import type { RepositorySettings } from '../../src/domain/settings.js';
import type { Trigger } from '../../src/domain/trigger.js';

export const BASE_COMMIT = 'b'.repeat(40);

export function sampleRepository(id = '101'): RepositoryRef {
  return {
    id,
    owner: 'acme',
    name: `library-${id}`,
    installationId: 7,
    defaultBranch: 'main',
    cloneUrl: `https://github.example/acme/library-${id}.git`,
  };
}

export function sampleTrigger(overrides: Partial<Trigger> = {}): Trigger {
  return {
    id: 'gh:1',
    source: 'issue-label',
    repository: sampleRepository(),
    issueNumber: 12,
    title: 'Sorting is slow',
    body: 'It takes 5 ms.',
    hint: null,
    actor: 'maintainer',
    outsideText: false,
    baseCommit: BASE_COMMIT,
    requestedAt: 1000,
    collapseKey: 'issue:12',
    ...overrides,
  };
}

export function sampleSettings(overrides: Partial<RepositorySettings> = {}): RepositorySettings {
  return {
    install: { packageManager: 'npm', command: null },
    build: null,
    test: 'npm test',
    benchmark: { kind: 'module', module: 'bench/sort.mjs', entry: 'index.js' },
    entry: 'index.js',
    allow: [],
    attempts: 3,
    minimumEffect: 0.05,
    memoryGrowth: 0.2,
    checks: { types: null, lint: null, format: null },
    approval: 'auto',
    budgetUsd: 5,
    timeouts: { installMs: 1000, buildMs: 1000, testMs: 1000, measureMs: 1000 },
    memoryBytes: 2 ** 30,
    origin: 'file',
    ...overrides,
  };
}

export const SAMPLE_PLAN: Plan = {
  title: 'Compare numbers as numbers',
  hypothesis: 'The comparison parses its operands again.',
  files: ['index.js'],
  steps: ['Skip parsing when both are numbers'],
  measurement: 'bench/sort.mjs',
  risk: 'low',
};

export const SAMPLE_BENCHMARK: ModuleBenchmark = {
  kind: 'module',
  origin: 'repository',
  path: 'bench/sort.mjs',
  source: 'export function run() { return 1; }',
  sha256: 'c'.repeat(64),
  entry: 'index.js',
  heldBack: null,
};

export const SAMPLE_PATCH: Patch = {
  baseCommit: BASE_COMMIT,
  tree: 'd'.repeat(40),
  diff: 'diff --git a/index.js b/index.js',
  digest: 'e'.repeat(64),
  files: [{ path: 'index.js', additions: 3, deletions: 1 }],
  summary: 'Compares numbers directly.',
};

export const SAMPLE_MEASUREMENT: Measurement = {
  verdict: 'faster',
  metric: 'cpu-time',
  minimumEffect: 0.05,
  workloads: [],
  runs: 18,
  seconds: 9,
  seed: 'seed',
  environment: { node: 'v20.20.2', runtime: 'runc', imageId: 'sha256:1', cpuset: '1', load: [0.5, 0.6] },
  reason: '',
};

export function samplePassed(overrides: Partial<EvaluationPassed> = {}): EvaluationPassed {
  return {
    outcome: 'passed',
    baseCommit: BASE_COMMIT,
    tree: SAMPLE_PATCH.tree,
    patchDigest: SAMPLE_PATCH.digest,
    benchmarkSha256: SAMPLE_BENCHMARK.sha256,
    steps: [],
    measurement: SAMPLE_MEASUREMENT,
    confirmation: SAMPLE_MEASUREMENT,
    heldBack: null,
    draftReasons: [],
    reproduce: [],
    ...overrides,
  };
}

export function sampleFailed(overrides: Partial<EvaluationFailed> = {}): EvaluationFailed {
  return {
    outcome: 'failed',
    baseCommit: BASE_COMMIT,
    tree: SAMPLE_PATCH.tree,
    patchDigest: SAMPLE_PATCH.digest,
    steps: [],
    failedStep: 'tests',
    summary: '2 tests failed',
    evidence: 'not ok 1 - sorts',
    measurement: null,
    ...overrides,
  };
}

/** What each station answers in a run that ends in a draft pull request. */
export const HAPPY_ANSWERS: Readonly<Record<EffectKind, MachineEvent | null>> = {
  acknowledge: { type: 'ACKNOWLEDGED', issueNumber: 12 },
  prepare: { type: 'PREPARED', settings: sampleSettings() },
  plan: { type: 'PLAN_READY', plan: SAMPLE_PLAN, benchmark: SAMPLE_BENCHMARK, profile: [] },
  execute: { type: 'PATCH_READY', patch: SAMPLE_PATCH },
  evaluate: { type: 'EVALUATION_PASSED', evaluation: samplePassed() },
  recover: { type: 'NO_FURTHER_IDEA', reason: 'none' },
  submit: {
    type: 'PULL_REQUEST_OPENED',
    submission: { branch: 'hasten/x', commit: 'f'.repeat(40), pullNumber: 13, url: 'u', draft: true },
  },
  report: { type: 'REPORTED' },
  remember: null,
  discard: null,
  'update-status': null,
  'ask-approval': null,
  reply: null,
  'make-ready': null,
  'record-fate': null,
};
