/** Prices of a model as the operator writes them. */
import { z } from 'zod';

export interface ModelPrices {
  /** US dollars per million tokens. */
  readonly inputUsdPerMillion: number;
  readonly outputUsdPerMillion: number;
}

/** `input,output` or `{"input": 1.25, "output": 10}`, US dollars per million tokens. */
export function parseModelPrices(text: string, context: z.RefinementCtx): ModelPrices {
  const price = z.coerce.number().min(0).max(100_000);
  const shape = z.strictObject({ input: price, output: price });
  const [input, output, ...rest] = text.split(',');
  const pair = rest.length === 0 && input?.trim() && output?.trim() ? { input, output } : null;
  const parsed = shape.safeParse(text.startsWith('{') ? jsonOf(text) : pair);
  if (parsed.success) {
    return { inputUsdPerMillion: parsed.data.input, outputUsdPerMillion: parsed.data.output };
  }
  const message =
    'US dollars per million tokens as "1.25,10" (input, output) or {"input": 1.25, "output": 10}';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
