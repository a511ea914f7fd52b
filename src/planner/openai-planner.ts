/** The model behind an OpenAI-compatible endpoint (chat completions with tools): one call, its bounded retries, its price. */
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI, { APIConnectionError, APIError, APIUserAbortError } from 'openai';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import { PeerError } from '../domain/errors.js';
import type { ChatRequest, TokenUsage } from './chat-messages.js';
import { type PriceOverride, priceOf } from './prices.js';
import { neverSent, refusal } from './provider-errors.js';

export interface OpenAiOptions {
  /** Address up to `/v1`; null for OpenAI's own. */
  readonly baseUrl: string | null;
  readonly apiKey: string;
  readonly model: string;
  /** Price of a model that the public list does not know; null: the list. */
  readonly price: PriceOverride | null;
  /** Output tokens that one answer may have; part of the reserved worst case. */
  readonly maxOutputTokens: number;
  /** Milliseconds for one HTTP exchange, body included. */
  readonly callTimeoutMs: number;
  /** Further tries after a refused or unsent call. */
  readonly retries: number;
  /** Longest wait that a `Retry-After` can ask of one call, milliseconds; a longer one ends the tries. */
  readonly maxRetryWaitMs: number;
  /** Field that limits the output; older servers know only `max_tokens`. */
  readonly outputLimitField: 'max_completion_tokens' | 'max_tokens';
  /** From 0 to below 1, for the jitter of waits. */
  readonly random: () => number;
}

/** How one call ended, told by whether the provider may charge for it. */
export type CallOutcome =
  /** Body of a 200 answer as text, not looked at yet. */
  | { readonly kind: 'answered'; readonly body: string }
  /** The provider refused with a status, or the call never left: not charged. */
  | { readonly kind: 'not-charged'; readonly error: Error }
  /** Cut off after sending: nobody can know. */
  | { readonly kind: 'unknown'; readonly error: PeerError };

/** A language model that answers one conversation turn; the only thing that knows the vendor. */
export interface ChatModel {
  readonly name: string;
  readonly maxOutputTokens: number;
  /** US dollars of one call with this usage. */
  costUsd(usage: TokenUsage): number;
  /** Asks once, with retries where nothing was charged. Rejects only when `signal` aborts before anything was sent. */
  call(request: ChatRequest, signal: AbortSignal): Promise<CallOutcome>;
}

const MAX_BODY_BYTES = 8 * 1024 * 1024;
const FIRST_WAIT_MS = 500;
const LONGEST_OWN_WAIT_MS = 8_000;

/** The adapter over package `openai`. Throws UserError `MODEL_PRICE_UNKNOWN` at creation, so that a service without a price does not start. */
export function createOpenAiModel(options: OpenAiOptions): ChatModel {
  const client = new OpenAI({
    apiKey: options.apiKey,
    baseURL: options.baseUrl ?? 'https://api.openai.com/v1',
    // Nothing of the machine's environment may decide where a key or a prompt goes, or print them.
    adminAPIKey: null,
    organization: null,
    project: null,
    logLevel: 'off',
    timeout: options.callTimeoutMs,
    // Retries are ours: each must respect the run's cancellation and never repeat a call that may have been charged.
    maxRetries: 0,
  });
  return {
    name: options.model,
    maxOutputTokens: options.maxOutputTokens,
    costUsd: priceOf(options.model, options.baseUrl, options.price),
    call: (request, signal) => callWithRetries(client, options, request, signal),
  };
}

async function callWithRetries(
  client: OpenAI,
  options: OpenAiOptions,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<CallOutcome> {
  for (let retry = 0; ; retry += 1) {
    signal.throwIfAborted();
    const outcome = await callOnce(client, options, request, signal);
    if (outcome.kind !== 'not-charged' || retry >= options.retries) return outcome;
    const wait = waitBeforeRetry(outcome.error, retry, options);
    if (wait === null) return outcome;
    await sleep(wait, undefined, { signal });
  }
}

/** Milliseconds to wait, or null when trying again is pointless now. */
function waitBeforeRetry(error: Error, retry: number, options: OpenAiOptions): number | null {
  if (!(error instanceof PeerError) || !error.retryable) return null;
  const own = Math.min(LONGEST_OWN_WAIT_MS, FIRST_WAIT_MS * 2 ** retry) * (0.5 + options.random() / 2);
  if (error.retryAfterMs === null) return own;
  // The jitter is added, never subtracted: coming back early is what the peer asked us not to do.
  return error.retryAfterMs > options.maxRetryWaitMs ? null : error.retryAfterMs + options.random() * 250;
}

async function callOnce(
  client: OpenAI,
  options: OpenAiOptions,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(options.callTimeoutMs)]);
  try {
    const response = await client.chat.completions
      .create(completionParams(request, options), { signal: limited })
      .asResponse();
    return { kind: 'answered', body: await readBounded(response) };
  } catch (error) {
    if (neverSent(error)) return { kind: 'not-charged', error: unreachable(error) };
    const gone = error instanceof APIConnectionError || error instanceof APIUserAbortError;
    if (error instanceof APIError && !gone) {
      const refused = refusal(error, options.model);
      if (!refused.mayBeCharged) return { kind: 'not-charged', error: refused.error };
    }
    return { kind: 'unknown', error: cutOff(error, options) };
  }
}

function completionParams(
  request: ChatRequest,
  options: OpenAiOptions,
): ChatCompletionCreateParamsNonStreaming {
  return {
    model: options.model,
    messages: request.messages.map((message) =>
      message.role === 'assistant' && message.tool_calls !== undefined
        ? { role: 'assistant', content: message.content, tool_calls: [...message.tool_calls] }
        : message.role === 'assistant'
          ? { role: 'assistant', content: message.content }
          : message,
    ),
    ...(request.tools.length === 0
      ? {}
      : {
          tools: request.tools.map((tool) => ({
            type: 'function',
            function: { ...tool, parameters: { ...tool.parameters } },
          })),
        }),
    [options.outputLimitField]: options.maxOutputTokens,
  };
}

async function readBounded(response: Response): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = '';
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BODY_BYTES) throw new Error(`the answer has more than ${MAX_BODY_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function unreachable(cause: unknown): PeerError {
  return new PeerError({
    code: 'MODEL_UNREACHABLE',
    message: 'The model endpoint could not be reached; nothing was sent. Check its address and that it runs.',
    cause,
  });
}

function cutOff(cause: unknown, options: OpenAiOptions): PeerError {
  return new PeerError({
    code: 'MODEL_CALL_CUT',
    message:
      `The call to the model was cut off before a whole answer came (limit ${options.callTimeoutMs} ms); ` +
      'whether it was charged is unknown, so its worst case stays booked.',
    cause,
  });
}
