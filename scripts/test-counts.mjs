// @ts-check
// Reads how many tests ran from vitest's closing lines, so that a run that found no test is not taken for a success.
import { stripVTControlCharacters } from 'node:util';

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped tests that were skipped or are only announced
 */

/**
 * Adds up the closing line `Tests  1 failed | 12 passed | 2 skipped (15)` of every run in an output.
 * @param {string} output of one or more runs, with or without colours
 * @returns {Counts}
 */
export function readCounts(output) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [, parts] of stripVTControlCharacters(output).matchAll(/^ *Tests {2,}(\d[^\n(]*)\(\d+\)/gm)) {
    for (const [, number, kind] of (parts ?? '').matchAll(/(\d+) (\w+)/g)) {
      if (kind === 'passed') counts.passed += Number(number);
      else if (kind === 'failed') counts.failed += Number(number);
      else counts.skipped += Number(number);
    }
  }
  return counts;
}
