/** The ledger in the service's database: lessons by run, found again by full text within their repository. */
import { z } from 'zod';
import type { Ledger, Lesson } from '../domain/lesson.js';
import type { Database } from '../store/database.js';
import { indexedText, matchQuery } from './search-words.js';

const MAX_RESULTS = 50;

const rowSchema = z
  .object({
    run_id: z.string(),
    repository_id: z.string(),
    repository: z.string(),
    problem: z.string(),
    plan: z.string(),
    patch: z.string(),
    outcome: z.string(),
    evidence: z.string(),
    fate: z.enum(['open', 'merged', 'closed', 'none']),
    at: z.number(),
  })
  .transform(({ run_id, repository_id, ...rest }): Lesson => {
    return { run: run_id, repositoryId: repository_id, ...rest };
  });

export class SqlLedger implements Ledger {
  readonly #database: Database;

  /** The database must have `LEDGER_MIGRATIONS` applied. */
  constructor(database: Database) {
    this.#database = database;
  }

  async search(query: {
    readonly repositoryId: string;
    readonly text: string;
    readonly limit: number;
  }): Promise<readonly Lesson[]> {
    const match = matchQuery(query.text);
    const limit = Math.min(MAX_RESULTS, Math.floor(query.limit));
    if (match === null || limit < 1) return [];
    const rows = await this.#database.tx((tx) =>
      tx.all<unknown>(
        // bm25 is smaller for better matches; the problem's own words count most.
        `select lesson.* from lesson_text join lesson on lesson.run_id = lesson_text.run_id
         where lesson_text match ? and lesson.repository_id = ?
         order by bm25(lesson_text, 0, 4, 2, 1), lesson.at desc, lesson.run_id limit ?`,
        [match, query.repositoryId, limit],
      ),
    );
    return rows.map((row) => rowSchema.parse(row));
  }

  async remember(lesson: Lesson): Promise<void> {
    await this.#database.tx(async (tx) => {
      await tx.run(
        // A fate that became known stays: the lesson may be written again after a crash.
        `insert into lesson (run_id, repository_id, repository, problem, plan, patch, outcome, evidence, fate, fate_at, at)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         on conflict (run_id) do update set
           repository_id = excluded.repository_id, repository = excluded.repository,
           problem = excluded.problem, plan = excluded.plan, patch = excluded.patch,
           outcome = excluded.outcome, evidence = excluded.evidence, at = excluded.at,
           fate = case when lesson.fate in ('merged', 'closed') then lesson.fate else excluded.fate end`,
        [
          lesson.run,
          lesson.repositoryId,
          lesson.repository,
          lesson.problem,
          lesson.plan,
          lesson.patch,
          lesson.outcome,
          lesson.evidence,
          lesson.fate,
          lesson.at,
          lesson.at,
        ],
      );
      await tx.run('delete from lesson_text where run_id = ?', [lesson.run]);
      await tx.run('insert into lesson_text (run_id, problem, plan, evidence) values (?, ?, ?, ?)', [
        lesson.run,
        indexedText(lesson.problem),
        indexedText(lesson.plan),
        indexedText(lesson.evidence),
      ]);
    });
  }

  async recordFate(run: string, fate: 'merged' | 'closed', at: number): Promise<boolean> {
    const { changes } = await this.#database.tx((tx) =>
      tx.run('update lesson set fate = ?, fate_at = ? where run_id = ?', [fate, at, run]),
    );
    return changes > 0;
  }
}
