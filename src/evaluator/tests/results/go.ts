/** Reads `go test -json` (and its output as text), and the lines of `go test -v`. */
import { z } from 'zod';
import { jsonOf } from './lines.js';
import { type ListedTest, MOST_TESTS, type TestOutcome } from './test-result.js';

const Event = z.object({
  Action: z.string(),
  Package: z.string().optional(),
  Test: z.string().optional(),
  Output: z.string().optional(),
});
const OUTCOMES: Readonly<Record<string, TestOutcome>> = { pass: 'passed', fail: 'failed', skip: 'skipped' };
const VERBOSE = /^ {0,80}--- (PASS|FAIL|SKIP): (\S{1,2000}) \([0-9.]{1,20}s\)\s*$/;
const PACKAGE_END = /^(?:ok|FAIL|\?|---)?\s{0,4}\t?(?:ok|FAIL)\s{1,4}(\S{1,1000})\s/;

function eventOf(line: string): z.infer<typeof Event> | null {
  if (!line.startsWith('{')) return null;
  const parsed = Event.safeParse(jsonOf(line));
  return parsed.success ? parsed.data : null;
}

/** Tests of the events in the text, by package; null where there is none. A package that fails without a test of its own counts as one. */
export function readGoJson(text: string): readonly ListedTest[] | null {
  const tests: ListedTest[] = [];
  const failing = new Set<string>();
  let events = 0;
  for (const line of text.split('\n')) {
    const event = eventOf(line);
    if (event === null || event.Package === undefined) continue;
    events += 1;
    const outcome = OUTCOMES[event.Action];
    if (outcome === undefined) continue;
    if (event.Test !== undefined) {
      tests.push({ file: null, names: [event.Package, event.Test], outcome });
      if (outcome === 'failed') failing.add(event.Package);
    } else if (outcome === 'failed' && !failing.has(event.Package)) {
      tests.push({ file: null, names: [event.Package, '(the package itself)'], outcome });
    }
    if (tests.length > MOST_TESTS) return null;
  }
  return events === 0 || tests.length === 0 ? null : tests;
}

/** What people would have seen without `-json`; other lines stay as they are. */
export function goText(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      const event = eventOf(line);
      if (event === null) return `${line}\n`;
      return event.Output ?? '';
    })
    .join('')
    .replace(/\n$/, '');
}

/** Tests of `go test -v`; a package is named by the line that ends it. Null where there is none. */
export function readGoVerbose(text: string): readonly ListedTest[] | null {
  const tests: ListedTest[] = [];
  let open: { readonly name: string; readonly outcome: TestOutcome }[] = [];
  const close = (name: string) => {
    for (const test of open) tests.push({ file: null, names: [name, test.name], outcome: test.outcome });
    open = [];
  };
  for (const line of text.split('\n')) {
    const test = VERBOSE.exec(line);
    if (test !== null) {
      const outcome = OUTCOMES[(test[1] ?? '').toLowerCase()];
      if (outcome !== undefined) open.push({ name: test[2] ?? '', outcome });
    } else {
      const end = PACKAGE_END.exec(line);
      if (end !== null) close(end[1] ?? '');
    }
    if (tests.length + open.length > MOST_TESTS) return null;
  }
  close('(no package)');
  return tests.length === 0 ? null : tests;
}
