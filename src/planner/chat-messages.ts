/** Words of a conversation with the model, in the shape of chat completions, and the check of what comes back. */
import { z } from 'zod';

/** One call of a tool, as the model wrote it; `arguments` is JSON text that nobody has checked yet. */
export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: string | null;
  readonly tool_calls?: readonly ToolCall[];
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly tool_call_id: string;
  readonly content: string;
}

export interface TextMessage {
  readonly role: 'system' | 'user';
  readonly content: string;
}

export type ChatMessage = TextMessage | AssistantMessage | ToolMessage;

/** A tool as the model is told about it; `parameters` is a JSON schema. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDescription[];
}

/** Tokens of one call as the provider reports them; cached ones are part of `promptTokens`. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** An answer that could be read. */
export interface ModelAnswer {
  readonly message: AssistantMessage;
  readonly finishReason: string;
}

const callSchema = z.object({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});

const completionSchema = z.object({
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({ content: z.string().nullish(), tool_calls: z.array(callSchema).nullish() }),
      }),
    )
    .min(1),
});

const tokens = z.number().int().min(0);
const usageSchema = z.object({
  usage: z.object({
    prompt_tokens: tokens,
    completion_tokens: tokens,
    prompt_tokens_details: z.object({ cached_tokens: tokens.nullish() }).nullish(),
  }),
});

export type ReadAnswer =
  | { readonly ok: true; readonly answer: ModelAnswer }
  /** `reason` is one clause that can be told to the model. */
  | { readonly ok: false; readonly reason: string };

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads the body of a chat completion (JSON text). Never throws. */
export function readAnswer(body: string): ReadAnswer {
  const parsed = completionSchema.safeParse(parseJson(body));
  const choice = parsed.success ? parsed.data.choices[0] : undefined;
  if (choice === undefined) return { ok: false, reason: 'it was not a chat completion in valid JSON' };
  const calls = choice.message.tool_calls ?? [];
  const content = choice.message.content ?? null;
  return {
    ok: true,
    answer: {
      message: { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) },
      finishReason: choice.finish_reason ?? 'stop',
    },
  };
}

/** The usage that a completion reports, or null when it reports none. */
export function readUsage(body: string): TokenUsage | null {
  const parsed = usageSchema.safeParse(parseJson(body));
  if (!parsed.success) return null;
  const { prompt_tokens, completion_tokens, prompt_tokens_details } = parsed.data.usage;
  return {
    promptTokens: prompt_tokens,
    cachedTokens: Math.min(prompt_tokens, prompt_tokens_details?.cached_tokens ?? 0),
    completionTokens: completion_tokens,
  };
}
