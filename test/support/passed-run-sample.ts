/** A whole run as it stands when its evaluation has passed, with digests that fit, for tests of texts and pushes. */
import { createHash } from 'node:crypto';
import type { Measurement, WorkloadMeasurement } from '../../src/domain/evaluation.js';
import type { RunRecord } from '../../src/domain/run.js';
import {
  SAMPLE_BENCHMARK,
  SAMPLE_MEASUREMENT,
  SAMPLE_PATCH,
  SAMPLE_PLAN,
  samplePassed,
  sampleSettings,
  sampleTrigger,
} from './run-samples.js';

export const SAMPLE_RUN_ID = 'abc123def456';

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function sampleWorkload(overrides: Partial<WorkloadMeasurement> = {}): WorkloadMeasurement {
  return {
    name: 'run',
    verdict: 'faster',
    speedup: 5.089,
    interval: [3.057, 5.52],
    intervalKind: 'range of the paired ratios',
    pairs: 6,
    control: { ratio: 1.008, blocks: 6, vetoed: false },
    costs: [],
    baseMs: 0.229926,
    patchMs: 0.044833,
    logRatios: [-1.6, -1.6, -1.5, -1.6, -1.7, -1.12],
    ...overrides,
  };
}

export function sampleMeasurement(overrides: Partial<Measurement> = {}): Measurement {
  return { ...SAMPLE_MEASUREMENT, workloads: [sampleWorkload()], ...overrides };
}

/** A run in `submitting`; `overrides` replace whole fields. */
export function samplePassedRun(overrides: Partial<RunRecord> = {}): RunRecord {
  const benchmark = { ...SAMPLE_BENCHMARK, sha256: sha256(SAMPLE_BENCHMARK.source) };
  const patch = { ...SAMPLE_PATCH, digest: sha256(SAMPLE_PATCH.diff) };
  return {
    id: SAMPLE_RUN_ID,
    trigger: sampleTrigger(),
    startedAt: Date.UTC(2026, 10, 30, 12, 0, 0),
    issueNumber: 12,
    settings: sampleSettings(),
    plan: SAMPLE_PLAN,
    benchmark,
    profile: [],
    patch,
    evaluation: samplePassed({
      patchDigest: patch.digest,
      benchmarkSha256: benchmark.sha256,
      steps: [
        { step: 'policy', ok: true, seconds: 0, summary: '1 file, 4 lines' },
        { step: 'tests', ok: true, seconds: 3, summary: '14 tests green on base and patch' },
      ],
      measurement: sampleMeasurement(),
      confirmation: sampleMeasurement({ workloads: [sampleWorkload({ interval: [2.5, 5.1] })] }),
      reproduce: ['git fetch origin hasten/abc123def456', 'npm ci && npm test'],
    }),
    lastFailure: null,
    attempt: 1,
    attempts: [],
    pause: null,
    cycleFrom: 0,
    extraAttempts: 0,
    grantedUsd: 0,
    hints: [],
    approvedBy: null,
    submission: null,
    outcome: null,
    outcomeReason: null,
    ...overrides,
  };
}
