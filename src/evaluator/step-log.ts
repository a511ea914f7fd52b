/** Keeps the report of each step in order, with its time, whether it passed or not. */
import type { EvaluationStep, StepReport } from '../domain/evaluation.js';
import { StepFailed } from './step-failed.js';

/** What a step gives when it passed. */
export interface StepDone<T> {
  /** One sentence for the pull request. */
  readonly summary: string;
  readonly value: T;
}

export interface StepLog {
  /** Runs a step; notes a StepFailed as its failure and throws it on, any other error is not a step's result. */
  run<T>(step: EvaluationStep, work: () => Promise<StepDone<T>>): Promise<T>;
  reports(): readonly StepReport[];
}

/** `now` in epoch milliseconds; `progress` gets one line per finished step. */
export function createStepLog(now: () => number, progress: (line: string) => void): StepLog {
  const reports: StepReport[] = [];
  const note = (step: EvaluationStep, ok: boolean, started: number, summary: string) => {
    reports.push({ step, ok, seconds: (now() - started) / 1000, summary });
    progress(`${step}: ${summary}`);
  };
  return {
    async run(step, work) {
      const started = now();
      try {
        const { summary, value } = await work();
        note(step, true, started, summary);
        return value;
      } catch (error) {
        if (error instanceof StepFailed) note(step, false, started, error.message);
        throw error;
      }
    },
    reports: () => [...reports],
  };
}
