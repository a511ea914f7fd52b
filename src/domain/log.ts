/** The port to the log: structured fields first, one line of words second; pino fits it as it is. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
