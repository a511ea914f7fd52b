/** Observes the command of a benchmark tool: one run gives the figures of all benchmarks that its report lists. */
import type { ReportFormat } from '../../domain/plan.js';
import { readReport } from '../reports/read-report.js';
import { StepFailed } from '../step-failed.js';
import {
  armWord,
  type BenchmarkObserver,
  type Observation,
  type ObservedArm,
  type ObserverOptions,
} from './benchmark-observer.js';
import { runInArm } from './command-run.js';

/** Longest report that is taken out of a container. */
const REPORT_BYTES = 8 * 2 ** 20;

export interface ReportObserverOptions extends ObserverOptions {
  readonly command: string;
  readonly format: ReportFormat;
  /** File that the tool writes; null for standard output. */
  readonly file: string | null;
}

/** Figures are the tool's own, so that nothing but them can be told. */
export function createReportObserver(options: ReportObserverOptions): BenchmarkObserver {
  return {
    metric: 'reported',
    metricReason: null,
    groups: (workloads) => [workloads],
    async observe(observed, group) {
      const observation = await observeReport(observed, options);
      const missing = group.filter((name) => !observation.samples.has(name));
      if (missing.length === 0) return observation;
      throw new StepFailed({
        code: 'WORKLOADS_CHANGED',
        message: `The report of the ${armWord(observed.name)} does not list the same benchmarks in every run.`,
        evidence: `Missing: ${missing.join(', ')}.`,
      });
    },
  };
}

/** One run of the command and its report. Throws StepFailed when it cannot be read. */
export async function observeReport(
  observed: ObservedArm,
  options: ReportObserverOptions,
): Promise<Observation> {
  const answer = await runInArm(observed, { ...options, keptBytes: REPORT_BYTES }, 1);
  if (answer.file === null && answer.stdoutBytes > REPORT_BYTES) {
    throw new StepFailed({
      code: 'REPORT_UNREADABLE',
      message: `The report of the ${armWord(observed.name)} has more than ${REPORT_BYTES} bytes; leave single samples out of it.`,
      evidence: '',
    });
  }
  const reported = readReport(options.format, answer.file ?? answer.stdout);
  const samples = reported.map(({ name, msPerOp, wallMs = null }) => {
    const sample = { msPerOp, wallMs, importMs: null, firstCallMs: null, peakMemoryMiB: null };
    return [name, sample] as const;
  });
  return { samples: new Map(samples), node: null };
}
