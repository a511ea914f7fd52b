/** Reads the JSON report of jest (`--json --outputFile`), which vitest's `json` reporter writes too. */
import { z } from 'zod';
import { jsonOf } from './lines.js';
import { type ListedTest, MOST_TESTS, type TestOutcome } from './test-result.js';

const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(
        z.object({ ancestorTitles: z.array(z.string()), title: z.string(), status: z.string() }),
      ),
    }),
  ),
});

/** Null for anything that is no whole report. A file that cannot be loaded counts as one failed test without a name. */
export function readJestJson(text: string): readonly ListedTest[] | null {
  const report = Report.safeParse(jsonOf(text));
  if (!report.success) return null;
  const tests = report.data.testResults.flatMap(({ name: file, status, assertionResults }) => {
    const listed: ListedTest[] = assertionResults.map((test) => ({
      file,
      names: [...test.ancestorTitles.filter((title) => title !== ''), test.title],
      outcome: outcomeOf(test.status),
    }));
    const silent = status === 'failed' && listed.every(({ outcome }) => outcome !== 'failed');
    return silent ? [...listed, { file, names: ['(the file itself)'], outcome: 'failed' } as const] : listed;
  });
  return tests.length > MOST_TESTS ? null : tests;
}

function outcomeOf(status: string): TestOutcome {
  if (status === 'passed' || status === 'failed') return status;
  return 'skipped';
}
