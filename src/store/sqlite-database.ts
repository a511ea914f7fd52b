/** The embedded default: one SQLite file, write-ahead log, every commit on disk before it is acknowledged. */
import BetterSqlite3 from 'better-sqlite3';
import type { Database, SqlValue, Transaction } from './database.js';

/** Milliseconds that a transaction waits for another process's (the operator's command line) before it fails. */
const BUSY_TIMEOUT_MS = 5000;
/** Pages after which the log is folded back; small, so that the file is overwritten instead of grown. */
const CHECKPOINT_PAGES = 200;

/** Opens (and creates) a database file; `:memory:` for tests. */
export function openSqlite(file: string): Database {
  const connection = new BetterSqlite3(file, { timeout: BUSY_TIMEOUT_MS });
  connection.pragma('journal_mode = WAL');
  connection.pragma('synchronous = FULL');
  connection.pragma('foreign_keys = ON');
  connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  return new SqliteDatabase(connection);
}

class SqliteDatabase implements Database {
  private readonly connection: BetterSqlite3.Database;
  private readonly statements = new Map<string, BetterSqlite3.Statement<unknown[]>>();
  private tail: Promise<unknown> = Promise.resolve();

  constructor(connection: BetterSqlite3.Database) {
    this.connection = connection;
  }

  tx<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const next = this.tail.then(() => this.transact(work));
    this.tail = next.catch(() => undefined);
    return next;
  }

  async close(): Promise<void> {
    await this.tail;
    this.connection.close();
  }

  private async transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.connection.exec('begin immediate');
    try {
      const result = await work(this.transaction());
      this.connection.exec('commit');
      return result;
    } catch (error) {
      if (this.connection.inTransaction) this.connection.exec('rollback');
      throw error;
    }
  }

  private transaction(): Transaction {
    return {
      all: async <T>(sql: string, params: readonly SqlValue[] = []) => this.prepare<T>(sql).all(...params),
      get: async <T>(sql: string, params: readonly SqlValue[] = []) => this.prepare<T>(sql).get(...params),
      run: async (sql, params = []) => ({ changes: this.prepare(sql).run(...params).changes }),
    };
  }

  private prepare<T>(sql: string): BetterSqlite3.Statement<unknown[], T> {
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.connection.prepare<unknown[]>(sql);
      this.statements.set(sql, statement);
    }
    return statement as BetterSqlite3.Statement<unknown[], T>;
  }
}
