/** The token bucket rule: pure, so that its state can live in a row and survive a restart. */

export interface BucketState {
  readonly tokens: number;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

export interface BucketRule {
  /** Tokens that come back per second. */
  readonly ratePerSecond: number;
  /** Most tokens that the bucket holds. */
  readonly burst: number;
}

/** Takes one token: the refilled state after it, whether there was one, and in how many whole seconds there will be one. */
export function takeToken(
  state: BucketState | null,
  rule: BucketRule,
  at: number,
): { readonly state: BucketState; readonly allowed: boolean; readonly retryAfterSeconds: number } {
  const elapsedSeconds = state === null ? 0 : Math.max(0, at - state.updatedAt) / 1000;
  const before = state === null ? rule.burst : state.tokens;
  const filled = Math.min(rule.burst, before + elapsedSeconds * rule.ratePerSecond);
  const updatedAt = state === null ? at : Math.max(at, state.updatedAt);
  if (filled >= 1) return { state: { tokens: filled - 1, updatedAt }, allowed: true, retryAfterSeconds: 0 };
  const retryAfterSeconds = Math.max(1, Math.ceil((1 - filled) / rule.ratePerSecond));
  return { state: { tokens: filled, updatedAt }, allowed: false, retryAfterSeconds };
}
