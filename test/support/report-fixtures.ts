/** Reports of benchmark tools as files, and how a reader refuses one. */
import { readFileSync } from 'node:fs';
import type { ReportFormat } from '../../src/domain/plan.js';
import { readReport } from '../../src/evaluator/reports/read-report.js';
import { StepFailed } from '../../src/evaluator/step-failed.js';

export function reportFixture(format: ReportFormat, file: string): string {
  return readFileSync(`fixtures/reports/${format}/${file}`, 'utf8');
}

/** The error that reading gives; throws where the report is read, or where another error comes. */
export function refusal(format: ReportFormat, text: string): StepFailed {
  try {
    readReport(format, text);
  } catch (error) {
    if (error instanceof StepFailed) return error;
    throw error;
  }
  throw new Error('The report was read.');
}
