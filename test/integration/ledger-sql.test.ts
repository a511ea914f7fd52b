import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lesson } from '../../src/domain/lesson.js';
import { LEDGER_MIGRATIONS } from '../../src/ledger/ledger-schema.js';
import { createRecordFateStation, createRememberStation } from '../../src/ledger/ledger-stations.js';
import { SqlLedger } from '../../src/ledger/sql-ledger.js';
import { type Database, migrate } from '../../src/store/database.js';
import { openSqlite } from '../../src/store/sqlite-database.js';
import { sampleMeasurement, samplePassedRun, sampleWorkload } from '../support/passed-run-sample.js';
import { sampleFailed, sampleRepository, sampleTrigger } from '../support/run-samples.js';

let directory: string;
let database: Database;
let ledger: SqlLedger;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'hasten-ledger-'));
  database = openSqlite(join(directory, 'hasten.db'));
  await migrate(database, LEDGER_MIGRATIONS, 1);
  ledger = new SqlLedger(database);
});

afterEach(async () => {
  await database.close();
  rmSync(directory, { recursive: true, force: true });
});

function lesson(overrides: Partial<Lesson> = {}): Lesson {
  return {
    run: 'run000000001',
    repositoryId: '101',
    repository: 'acme/library',
    problem: 'Parsing the Cookie header is a hot spot',
    plan: 'Walk with indexOf instead of splitting',
    patch: 'diff --git a/index.js b/index.js',
    outcome: 'pull-request',
    evidence: 'Measured: faster 1.64x',
    fate: 'open',
    at: 1000,
    ...overrides,
  };
}

async function found(text: string, repositoryId = '101', limit = 5): Promise<readonly string[]> {
  return (await ledger.search({ repositoryId, text, limit })).map((each) => each.run);
}

describe('searching lessons', () => {
  it('gives back what was stored, whole', async () => {
    await ledger.remember(lesson());
    expect(await ledger.search({ repositoryId: '101', text: 'slow cookie parser', limit: 5 })).toEqual([
      lesson(),
    ]);
  });

  it('puts the best match first and takes other forms of a word', async () => {
    await ledger.remember(lesson({ run: 'a', problem: 'Sorting versions is slow', plan: 'Compare numbers' }));
    await ledger.remember(
      lesson({ run: 'b', problem: 'Histogram bins are slow', plan: 'No bisection per value' }),
    );
    await ledger.remember(lesson({ run: 'c', problem: 'Slow start', plan: 'mentions sorts once' }));
    expect(await found('slow sort of version numbers')).toEqual(['a', 'c', 'b']);
    expect(await found('slow sort of version numbers', '101', 1)).toEqual(['a']);
  });

  it('finds a name by its parts', async () => {
    await ledger.remember(lesson({ problem: 'parseCookieHeader takes 5 ms' }));
    expect(await found('the header parser')).toHaveLength(1);
  });

  it("never shows another repository's lessons", async () => {
    await ledger.remember(lesson({ repositoryId: '202' }));
    expect(await found('cookie header')).toEqual([]);
    expect(await found('cookie header', '202')).toHaveLength(1);
  });

  it('finds nothing for text without words or without a match', async () => {
    await ledger.remember(lesson());
    expect(await found('')).toEqual([]);
    expect(await found('the of a')).toEqual([]);
    expect(await found('regular expression backtracking')).toEqual([]);
  });

  it.each([
    '"',
    "' OR 1=1 --",
    'NEAR(a b)',
    'problem:cookie',
    'cookie*',
    '(((',
    'AND OR NOT',
    '"cookie',
    '\u0000',
    '_ _',
  ])('takes %j as words, never as a query', async (text) => {
    await ledger.remember(lesson());
    await expect(found(text)).resolves.toBeInstanceOf(Array);
  });

  it('takes any text at all', async () => {
    await ledger.remember(lesson());
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 120 }), async (text) => {
        await found(text);
        await ledger.remember(lesson({ run: 'fuzz', problem: text }));
      }),
      { numRuns: 150 },
    );
  });

  it('replaces the words of a lesson with the lesson', async () => {
    await ledger.remember(lesson());
    await ledger.remember(lesson({ problem: 'Sorting versions', plan: 'Compare numbers' }));
    expect(await found('cookie header')).toEqual([]);
    expect(await found('sorting')).toHaveLength(1);
  });

  it('keeps its lessons in the file', async () => {
    await ledger.remember(lesson());
    await database.close();
    database = openSqlite(join(directory, 'hasten.db'));
    ledger = new SqlLedger(database);
    expect(await found('cookie')).toHaveLength(1);
  });
});

describe('what became of a pull request', () => {
  it('is noted, and stays when the lesson is written again', async () => {
    await ledger.remember(lesson());
    expect(await ledger.recordFate('run000000001', 'merged', 2000)).toBe(true);
    await ledger.remember(lesson());
    expect((await ledger.search({ repositoryId: '101', text: 'cookie', limit: 1 }))[0]?.fate).toBe('merged');
  });

  it('is not noted for a run without a lesson', async () => {
    expect(await ledger.recordFate('nobody', 'closed', 2000)).toBe(false);
  });
});

describe('the stations', () => {
  const context = { signal: new AbortController().signal, now: () => 5000, progress: () => undefined };
  const money = { spentByRun: async () => 0.25 };

  function effect(run: ReturnType<typeof samplePassedRun>) {
    return {
      key: `${run.id}:9:0:remember`,
      kind: 'remember' as const,
      repository: sampleRepository('101'),
      payload: { run, state: 'reporting' as const },
      createdAt: 4000,
      attempt: 1,
    };
  }

  it('remember a pull request with its measured effect', async () => {
    const run = samplePassedRun({
      outcome: 'pull-request',
      submission: { branch: 'hasten/x', commit: 'f'.repeat(40), pullNumber: 3, url: 'u', draft: false },
    });
    const station = createRememberStation({ ledger, money });
    expect(await station(effect(run), context)).toBeNull();
    await station(effect(run), context);
    const [stored, ...others] = await ledger.search({ repositoryId: '101', text: 'sorting', limit: 5 });
    expect(others).toEqual([]);
    expect(stored).toMatchObject({ run: run.id, fate: 'open', outcome: 'pull-request', at: 4000 });
    expect(stored?.evidence).toContain('run 5.09x (3.06 to 5.52, 6 pairs, faster)');
    expect(stored?.evidence).toContain('$0.2500');
    expect(stored?.patch).toContain('diff --git');
  });

  it('remember failures too, with the last patch and why it failed', async () => {
    const run = samplePassedRun({
      trigger: sampleTrigger({ title: 'Sorting is slow' }),
      evaluation: null,
      patch: null,
      outcome: 'failed',
      outcomeReason: 'All attempts failed.',
      lastFailure: sampleFailed({
        failedStep: 'measurement',
        summary: 'slower',
        measurement: sampleMeasurement({
          verdict: 'slower',
          workloads: [sampleWorkload({ verdict: 'slower', speedup: 0.6, interval: [0.5, 0.65] })],
        }),
      }),
      attempts: [
        {
          number: 1,
          planHash: 'p',
          errorSignature: 'e',
          summary: 'measurement: slower',
          evidence: '',
          plan: null,
          diff: 'diff --git a/x b/x',
        },
      ],
    });
    await createRememberStation({ ledger, money })(effect(run), context);
    const [stored] = await ledger.search({ repositoryId: '101', text: 'sorting', limit: 5 });
    expect(stored).toMatchObject({ fate: 'none', outcome: 'failed', patch: 'diff --git a/x b/x' });
    expect(stored?.evidence).toContain('slower; run 0.600x (0.500 to 0.650');
  });

  it('note the fate', async () => {
    await ledger.remember(lesson());
    const station = createRecordFateStation({ ledger });
    const noted = await station(
      {
        key: 'k',
        kind: 'record-fate',
        repository: sampleRepository(),
        createdAt: 7000,
        attempt: 1,
        payload: { run: 'run000000001', fate: 'closed' },
      },
      context,
    );
    expect(noted).toBeNull();
    expect((await ledger.search({ repositoryId: '101', text: 'cookie', limit: 1 }))[0]?.fate).toBe('closed');
  });
});
