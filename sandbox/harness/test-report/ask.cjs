// Preloaded (`NODE_OPTIONS=--require`) into every Node process of a repository's test command: where the process is a
// known test runner, it asks that runner for a report per test, below the directory of HASTEN_TEST_REPORT. The command
// and its scripts stay as they are. Whatever goes wrong here only costs the report, never the tests.
'use strict';

const { readFileSync, realpathSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { isMainThread } = require('node:worker_threads');

const directory = process.env.HASTEN_TEST_REPORT;
if (isMainThread && directory && process.argv[1]) {
  try {
    ask(realpathSync(process.argv[1]));
  } catch {
    // No report.
  }
}

function ask(main) {
  const runner = packageOf(main);
  const argv = process.argv;
  if (argv.some((word) => word.includes(directory))) return;
  const file = (ending) => join(directory, `${runner}-${process.pid}.${ending}`);
  if (runner === 'vitest' && main.endsWith('/vitest.mjs')) {
    if (['bench', 'list', 'init', '--version', '--help'].includes(argv[2])) return;
    argv.push(...(namesReporter(argv, '--reporter') ? [] : ['--reporter=default']), '--reporter=json');
    argv.push(`--outputFile.json=${file('jest.json')}`);
  } else if ((runner === 'jest' || runner === 'jest-cli') && main.endsWith('/bin/jest.js')) {
    if (argv.some((word) => /^--(version|help|init|listTests|showConfig|outputFile)\b/.test(word))) return;
    argv.push('--json', `--outputFile=${file('jest.json')}`);
  } else if (runner === 'mocha' && /\/(bin\/_?mocha(\.c?js)?|lib\/cli\/cli\.js)$/.test(main)) {
    askMocha(main);
  } else if (runner === 'tap' && /\/(bin\/run\.js|dist\/esm\/run\.mjs)$/.test(main)) {
    if (!/^(--version|--help|plugin|build|repl|list|report|config|dump|versions)$/.test(argv[2] ?? '')) {
      argv.push('--reporter=tap');
    }
  } else if (runner === 'ava' && /\/(entrypoints\/cli\.mjs|cli\.js)$/.test(main)) {
    argv.push('--tap');
  }
}

/** Its own reporter beside the usual text; one that the repository chose in argv would be printed twice otherwise. */
function askMocha(main) {
  const argv = process.argv;
  process.env.HASTEN_MOCHA_MAIN = main;
  for (let at = 2; at < argv.length; at += 1) {
    if (argv[at] === '--reporter' || argv[at] === '-R') argv.splice(at--, 2);
    else if (/^(--reporter=|-R.)/.test(argv[at])) argv.splice(at--, 1);
  }
  argv.push('--reporter', join(__dirname, 'mocha-reporter.cjs'));
}

function namesReporter(argv, option) {
  return argv.some((word) => word === option || word.startsWith(`${option}=`));
}

/** Name of the package that a file belongs to. */
function packageOf(file) {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      if (typeof name === 'string') return name;
    } catch {
      // Further up.
    }
  }
  return '';
}
