/** What failed unexpectedly is left alone for a while, or it would be tried again in a hot loop. */

/** Milliseconds. */
export const REST_MS = 10_000;

export class Resting {
  private readonly until = new Map<string, number>();

  /** `now`: epoch milliseconds. */
  constructor(private readonly now: () => number) {}

  add(key: string): void {
    this.until.set(key, this.now() + REST_MS);
  }

  has(key: string): boolean {
    const until = this.until.get(key);
    if (until === undefined) return false;
    if (until > this.now()) return true;
    this.until.delete(key);
    return false;
  }
}
