/** Prices of the model: a kept public list, overridden by the operator's settings. */
import { calcPrice } from '@pydantic/genai-prices';
import { UserError } from '../domain/errors.js';
import type { TokenUsage } from './chat-messages.js';

/** US dollars per million tokens, from the service settings. */
export interface PriceOverride {
  readonly inputUsdPerMillion: number;
  readonly outputUsdPerMillion: number;
}

/** US dollars of one call. */
export type PriceOf = (usage: TokenUsage) => number;

const MILLION = 1_000_000;

function listed(model: string, baseUrl: string | null, usage: TokenUsage): number | null {
  const units = {
    input_tokens: usage.promptTokens,
    output_tokens: usage.completionTokens,
    ...(usage.cachedTokens > 0 ? { cache_read_tokens: usage.cachedTokens } : {}),
  };
  const byAddress = baseUrl === null ? null : calcPrice(units, model, { providerApiUrl: baseUrl });
  const found = byAddress ?? calcPrice(units, model);
  return found === null || !Number.isFinite(found.total_price) ? null : found.total_price;
}

/**
 * The price function of a model. Without an override it comes from `@pydantic/genai-prices` (by the endpoint's
 * address first, then by the model's name; cached input at its own price where the list knows one).
 * Throws UserError `MODEL_PRICE_UNKNOWN`: without a price no limit could hold.
 */
export function priceOf(model: string, baseUrl: string | null, override: PriceOverride | null): PriceOf {
  if (override !== null) {
    return (usage) =>
      (usage.promptTokens * override.inputUsdPerMillion +
        usage.completionTokens * override.outputUsdPerMillion) /
      MILLION;
  }
  const probe = listed(model, baseUrl, { promptTokens: MILLION, cachedTokens: 0, completionTokens: MILLION });
  if (probe === null || probe <= 0) throw unknownPrice(model);
  return (usage) => {
    const usd = listed(model, baseUrl, usage);
    if (usd === null) throw unknownPrice(model);
    return usd;
  };
}

function unknownPrice(model: string): UserError {
  return new UserError({
    code: 'MODEL_PRICE_UNKNOWN',
    message:
      `No price is known for the model "${model}", so no money limit could hold. ` +
      'Set its price in US dollars per million input and output tokens in the service settings.',
  });
}
