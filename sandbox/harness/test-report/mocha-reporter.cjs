// A reporter of mocha: its usual text, and one line per test below the directory of HASTEN_TEST_REPORT:
// [outcome, file, titles from the outermost group to the test].
'use strict';

const { appendFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const fromMocha = createRequire(process.env.HASTEN_MOCHA_MAIN);
const Spec = fromMocha('mocha/lib/reporters/spec');

class LinesAndSpec extends Spec {
  constructor(runner, options) {
    super(runner, options);
    const directory = process.env.HASTEN_TEST_REPORT;
    if (!directory) return;
    const report = join(directory, `mocha-${process.pid}.lines`);
    const note = (outcome) => (test) => {
      appendFileSync(report, `${JSON.stringify([outcome, test.file ?? '', test.titlePath()])}\n`);
    };
    runner.on('pass', note('passed'));
    runner.on('fail', note('failed'));
    runner.on('pending', note('skipped'));
  }
}

module.exports = LinesAndSpec;
