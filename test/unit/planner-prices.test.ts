import { describe, expect, it } from 'vitest';
import { priceOf } from '../../src/planner/prices.js';

const usage = { promptTokens: 1_000_000, cachedTokens: 0, completionTokens: 100_000 };

describe('prices of the model', () => {
  it('take the known model from the kept list', () => {
    expect(priceOf('gpt-5-mini', null, null)(usage)).toBeCloseTo(0.25 + 0.2, 6);
  });

  it('find a known model behind an endpoint with another address', () => {
    expect(priceOf('gpt-5-mini', 'http://127.0.0.1:9/v1', null)(usage)).toBeCloseTo(0.45, 6);
  });

  it('know the model that the service settings choose by default', () => {
    expect(priceOf('gpt-5.1', null, null)(usage)).toBeGreaterThan(0);
  });

  it('price cached input lower where the list knows it', () => {
    const cached = priceOf('gpt-5-mini', null, null)({ ...usage, cachedTokens: 1_000_000 });
    expect(cached).toBeLessThan(0.45);
    expect(cached).toBeGreaterThan(0);
  });

  it('let the settings override the list', () => {
    const price = priceOf('gpt-5-mini', null, { inputUsdPerMillion: 3, outputUsdPerMillion: 20 });
    expect(price(usage)).toBeCloseTo(3 + 2, 9);
  });

  it('refuse a model without a price and say which setting fixes it', () => {
    expect(() => priceOf('house-model-7b', null, null)).toThrow(
      expect.objectContaining({ code: 'MODEL_PRICE_UNKNOWN', fault: 'user' }),
    );
    expect(priceOf('house-model-7b', null, { inputUsdPerMillion: 0, outputUsdPerMillion: 0 })(usage)).toBe(0);
  });
});
