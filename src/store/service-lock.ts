/** Makes sure that one service at a time works on a data folder: the operating system frees the lock when the holder dies. */
import BetterSqlite3 from 'better-sqlite3';
import { UserError } from '../domain/errors.js';

export interface ServiceLock {
  release(): void;
}

/** Takes the lock of a data folder (`file` is made when missing). Throws UserError `DATA_DIR_IN_USE` when another process holds it. */
export function takeServiceLock(file: string): ServiceLock {
  const connection = new BetterSqlite3(file, { timeout: 0 });
  try {
    connection.exec('begin exclusive');
  } catch (cause) {
    connection.close();
    throw new UserError({
      code: 'DATA_DIR_IN_USE',
      message: `Another Hasten works on this data folder (${file} is locked). Stop it, or set HASTEN_DATA_DIR to another folder.`,
      cause,
    });
  }
  return { release: () => connection.close() };
}
