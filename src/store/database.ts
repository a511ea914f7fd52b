/** The database as the other floors see it: short transactions, `?` parameters, SQL that both SQLite and Postgres take. */

export type SqlValue = string | number | null;

export interface Transaction {
  /** All rows of a query. */
  all<T>(sql: string, params?: readonly SqlValue[]): Promise<readonly T[]>;
  /** The first row, or undefined. */
  get<T>(sql: string, params?: readonly SqlValue[]): Promise<T | undefined>;
  /** Executes a statement; `changes` counts the rows it touched. */
  run(sql: string, params?: readonly SqlValue[]): Promise<{ readonly changes: number }>;
}

export interface Database {
  /**
   * Runs `work` in one durable transaction: committed when it resolves, rolled back when it throws.
   * Transactions of one handle run one after another; `work` must never wait for the network.
   */
  tx<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** One step of the schema; applied once, in order, and remembered by id. */
export interface Migration {
  readonly id: string;
  /** One or more statements separated by `;`. */
  readonly sql: string;
}

/** Brings a database up to date. Throws when a migration that was applied is missing from the list (a newer Hasten wrote it). */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  at: number,
): Promise<void> {
  await database.tx(async (tx) => {
    await tx.run('create table if not exists migration (id text primary key, applied_at bigint not null)');
    const applied = new Set((await tx.all<{ id: string }>('select id from migration')).map((row) => row.id));
    const known = new Set(migrations.map((migration) => migration.id));
    const foreign = [...applied].filter((id) => !known.has(id));
    if (foreign.length > 0) {
      throw new Error(
        `This database was written by a newer Hasten (unknown migrations: ${foreign.join(', ')}); start that version or use another HASTEN_DATA_DIR.`,
      );
    }
    for (const migration of migrations) {
      if (applied.has(migration.id)) continue;
      for (const statement of splitStatements(migration.sql)) await tx.run(statement);
      await tx.run('insert into migration (id, applied_at) values (?, ?)', [migration.id, at]);
    }
  });
}

/** Splits at `;` that end a line, so that trigger bodies may hold inner semicolons behind other text. */
function splitStatements(sql: string): readonly string[] {
  return sql
    .split(/;\s*\n/)
    .map((statement) => statement.trim().replace(/;$/, ''))
    .filter((statement) => statement.length > 0);
}
