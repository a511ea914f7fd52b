/** The structured plan as the model hands it over, and as the domain keeps it. */
import { z } from 'zod';
import type { Plan } from '../domain/plan.js';
import { workspacePath } from './workspace-path.js';

const line = (most: number) => z.string().trim().min(1).max(most);

const planFields = {
  title: line(120).describe('One line in the imperative on what gets faster and how; becomes the title'),
  hypothesis: line(4000).describe('Why it is slow now and why the change makes it faster'),
  files: z.array(workspacePath).min(1).max(30).describe('Files that will change'),
  steps: z.array(line(1000)).min(1).max(30).describe('What will be done, in order'),
  measurement: line(2000).describe('How the gain will show in the benchmark'),
  risk: line(2000).describe('What could break, and what keeps it from breaking'),
};

export const planSchema = z.object(planFields);

export const planWithBenchmarkSchema = z.object({
  ...planFields,
  benchmark: z
    .object({
      source: z.string().min(1).max(64_000).describe('Source of the ES module: exports run() and checksum()'),
      entry: workspacePath.optional().describe('Module under test, when the task names none'),
    })
    .optional()
    .describe('Only when the task says that the repository has no benchmark'),
  heldBack: z
    .object({
      source: z
        .string()
        .min(1)
        .max(64_000)
        .describe('Source of an ES module of the same form as the benchmark'),
    })
    .optional()
    .describe(
      'Required when the benchmark is a module: the same kind of work for the same module under test, on other inputs',
    ),
});

export type PlanWithBenchmark = z.infer<typeof planWithBenchmarkSchema>;

/** The plan alone, in the domain's shape. */
export function planOf(fields: z.infer<typeof planSchema>): Plan {
  const { title, hypothesis, files, steps, measurement, risk } = fields;
  return { title: title.replace(/\s+/g, ' '), hypothesis, files, steps, measurement, risk };
}

export const reasonSchema = z.object({ reason: line(4000).describe('The reason, for the people who asked') });

export const patchSummarySchema = z.object({
  summary: line(8000).describe('What was changed and why it is faster, in a few sentences'),
});
