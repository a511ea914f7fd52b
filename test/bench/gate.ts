/**
 * `npm run bench -- gate`: how often the gate is wrong. With `--timings` over recorded runs, beside four rules used elsewhere;
 * with `--cases` live, on published packages before and after a known change.
 */
import { parseArgs } from 'node:util';
import { listCases } from '../support/npm-case.js';
import { readRecordings, TIMINGS_DIR } from '../support/recorded-timings.js';
import { type CaseRow, caseRows } from './gate-cases.js';
import { type TimingsRow, timingsRows } from './gate-timings.js';

const USAGE = `npm run bench -- gate --timings DIR [--json] [--seed TEXT]
npm run bench -- gate --cases FILE [--only ID] [--json]

--timings DIR  false alarms and power over the recordings of a folder (fixtures/timings, or another of its form):
               shares of A/A windows that a rule calls faster or slower, the share of true changes of so many percent
               that it calls faster, and the runs that it takes on average in an A/A window
--cases FILE   measures each case of a file like fixtures/cases/npm-cases.json in the sandbox, and each faster one
               against itself
--json         one object with all rows`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      timings: { type: 'string' },
      cases: { type: 'string' },
      only: { type: 'string' },
      seed: { type: 'string', default: 'hasten' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(USAGE);
  if (values.cases !== undefined) return live(values.cases, values.only, values.json);
  const rows = timingsRows(await readRecordings(values.timings ?? TIMINGS_DIR), values.seed);
  if (values.json) console.log(JSON.stringify({ bench: 'gate', seed: values.seed, rows }));
  else console.log(table(rows));
}

async function live(file: string, only: string | undefined, json: boolean): Promise<void> {
  const cases = (await listCases(file)).filter((each) => only === undefined || each.id === only);
  const tell = (row: CaseRow) => (json ? console.error(line(row)) : console.log(line(row)));
  const rows = await caseRows(cases, tell);
  if (json) console.log(JSON.stringify({ bench: 'gate', rows }));
}

function line(row: CaseRow): string {
  const figures =
    row.ratio === null
      ? row.reason
      : `${row.ratio.toFixed(2)}x (${row.interval?.map((bound) => bound.toFixed(2)).join(' to ') ?? 'no interval'})`;
  const { id, expected, verdict, pairs, seconds } = row;
  return `${id}: ${verdict ?? 'failed'}, expected ${expected}; ${figures}, ${pairs} pairs, ${seconds.toFixed(0)} s`;
}

function table(rows: readonly TimingsRow[]): string {
  const changes = [...new Set(rows.flatMap((row) => Object.keys(row.power)))];
  const head = [
    'rule',
    'condition',
    'windows',
    'false faster',
    'false slower',
    ...changes.map((c) => `finds ${c} %`),
    'runs',
  ];
  const lines = rows.map((row) => [
    row.rule,
    row.condition,
    `${row.windows}`,
    percent(row.falseFaster),
    percent(row.falseSlower),
    ...changes.map((change) => percent(row.power[change] ?? Number.NaN)),
    row.meanRuns.toFixed(0),
  ]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function percent(share: number): string {
  return Number.isNaN(share) ? '' : `${(share * 100).toFixed(1)} %`;
}

await main();
