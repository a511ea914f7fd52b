/** What can be compared of a benchmark tool: that it succeeds on both sides and its report lists the same benchmarks. */
import { StepFailed } from '../step-failed.js';
import { type ArmName, observedArm } from './benchmark-observer.js';
import type { ComparedArms, ComparedBenchmark } from './compared-benchmark.js';
import { createReportObserver, observeReport, type ReportObserverOptions } from './report-observer.js';

/** One run in each arm. Throws StepFailed when a run fails, a report cannot be read, or the benchmarks differ. */
export async function compareReport(
  arms: ComparedArms,
  request: ReportObserverOptions,
): Promise<ComparedBenchmark> {
  const workloadsOf = async (name: ArmName) => {
    const { samples } = await observeReport(await observedArm(name, arms[name]), request);
    return [...samples.keys()];
  };
  const base = await workloadsOf('base');
  expectSame('two runs of the base', base, await workloadsOf('copy'));
  expectSame('base and patch', base, await workloadsOf('patch'));
  return {
    workloads: base,
    observer: createReportObserver(request),
    output: 'not-compared',
    summary: `The command succeeds on base and patch and reports the same ${base.length === 1 ? 'benchmark' : `${base.length} benchmarks`}.`,
  };
}

function expectSame(between: string, a: readonly string[], b: readonly string[]): void {
  const [first, second] = [[...a].sort(), [...b].sort()];
  if (JSON.stringify(first) === JSON.stringify(second)) return;
  throw new StepFailed({
    code: 'WORKLOADS_CHANGED',
    message: `The report does not list the same benchmarks in ${between}.`,
    evidence: `First: ${first.join(', ')}.\nSecond: ${second.join(', ')}.`,
  });
}
