/** Tables of the ledger: one lesson per run, and its words in SQLite's full-text index. */
import type { Migration } from '../store/database.js';

/**
 * `lesson` is SQL for both databases; `lesson_text` is SQLite's FTS5. The words of a lesson are written and replaced
 * together with its row, so there are no triggers.
 */
export const LEDGER_MIGRATIONS: readonly Migration[] = [
  {
    id: '100-ledger',
    sql: `
create table lesson (
  run_id text primary key,
  repository_id text not null,
  repository text not null,
  problem text not null,
  plan text not null,
  patch text not null,
  outcome text not null,
  evidence text not null,
  fate text not null check (fate in ('open', 'merged', 'closed', 'none')),
  fate_at bigint not null,
  at bigint not null
);
create index lesson_repository on lesson (repository_id, at);
create virtual table lesson_text using fts5 (
  run_id unindexed,
  problem,
  plan,
  evidence,
  tokenize = 'porter unicode61 remove_diacritics 2'
);
`,
  },
];
