// A reporter of node:test that writes one line per test below the directory of HASTEN_TEST_REPORT:
// [outcome, file, names from the outermost group to the test]. It prints nothing.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

const directory = process.env.HASTEN_TEST_REPORT;
const report = join(directory ?? '/tmp', `node-${process.pid}.lines`);

/** Takes the events of a run in the order in which they are shown: a group starts before its tests and ends after them. */
// biome-ignore lint/style/noDefaultExport: node:test takes a reporter as the default export.
export default async function* lines(events) {
  const names = [];
  for await (const { type, data } of events) {
    if (type === 'test:start') {
      names.length = data.nesting;
      names[data.nesting] = data.name;
    }
    if ((type !== 'test:pass' && type !== 'test:fail') || directory === undefined) continue;
    names.length = data.nesting;
    if (data.details?.type === 'suite') continue;
    const skipped = data.skip !== undefined && data.skip !== false;
    const todo = data.todo !== undefined && data.todo !== false;
    const outcome = skipped || todo ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed';
    appendFileSync(report, `${JSON.stringify([outcome, data.file ?? '', [...names, data.name]])}\n`);
    yield '';
  }
}
