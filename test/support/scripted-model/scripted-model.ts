/** An OpenAI-compatible server that plays a script through the tools it is offered; for end-to-end tests and the demo. */
import { createHash } from 'node:crypto';
import { type ChatCompletionRequest, type FixtureResponse, LLMock } from '@copilotkit/aimock';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { ModelScript, ScriptedAnswer } from './case-script.js';
import { type ScriptedStation, viewOf } from './conversation-view.js';

/** One failure of the endpoint; each is played once, in the order given. */
export type ModelFault =
  | { readonly kind: 'rate-limit'; readonly retryAfterSeconds: number }
  | { readonly kind: 'status'; readonly status: number }
  /** The connection is cut before an answer. */
  | { readonly kind: 'cut' }
  /** Status 200 with a body that is no JSON. */
  | { readonly kind: 'invalid-json' }
  /** A tool call whose arguments do not fit. */
  | { readonly kind: 'outside-schema' }
  /** Words instead of a tool call. */
  | { readonly kind: 'words' };

/** One request that arrived, faults included. */
export interface ModelCall {
  /** Null when the request was none of the stations'. */
  readonly station: ScriptedStation | null;
  readonly attempt: number;
  readonly position: number;
  readonly fault: ModelFault['kind'] | null;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly body: ChatCompletionRequest;
}

export interface ScriptedModelOptions {
  /** Default: any free port. */
  readonly port?: number;
  readonly script: ModelScript;
  /** When given, other keys get 401. */
  readonly apiKey?: string;
  /** Milliseconds before each answer, so that a test can kill the service while the model thinks. */
  readonly delayMs?: number;
}

export interface ScriptedModel {
  /** For `OPENAI_BASE_URL`, up to `/v1`. */
  readonly baseUrl: string;
  readonly port: number;
  /** Requests in the order in which they arrived. */
  calls(): readonly ModelCall[];
  /** Plays these failures at the next requests. */
  fail(...faults: readonly ModelFault[]): void;
  /** Changes the script from the next request on. */
  play(script: ModelScript): void;
  /** Also for an endpoint that goes away for good; a second time does nothing. */
  close(): Promise<void>;
}

interface Seen {
  readonly call: ModelCall;
  readonly fault: ModelFault | null;
}

/** Starts it on the loopback interface. */
export async function startScriptedModel(options: ScriptedModelOptions): Promise<ScriptedModel> {
  const faults: ModelFault[] = [];
  const calls: ModelCall[] = [];
  const seen = new WeakMap<ChatCompletionRequest, Seen>();
  let { script } = options;
  /** The server asks for matches several times per request; only the first look counts. */
  const look = (body: ChatCompletionRequest): Seen => {
    const known = seen.get(body);
    if (known !== undefined) return known;
    const fault = faults.shift() ?? null;
    const view = viewOf(body);
    const { station, attempt, position } = view ?? { station: null, attempt: 0, position: 0 };
    const call = { station, attempt, position, fault: fault?.kind ?? null, at: Date.now(), body };
    calls.push(call);
    const now = { call, fault };
    seen.set(body, now);
    return now;
  };
  const mock = new LLMock({
    host: '127.0.0.1',
    port: options.port ?? 0,
    logLevel: 'silent',
    ...(options.apiKey === undefined ? {} : { auth: { apiKeys: [options.apiKey] } }),
  });
  // Its `latency` holds back the parts of a stream only; this one holds back every answer.
  const delay = options.delayMs ? { chaos: { latencyMs: options.delayMs } } : {};
  const nothing = { content: '' };
  mock.addFixture({
    match: { predicate: (body) => look(body).fault?.kind === 'cut' },
    response: nothing,
    chaos: { disconnectRate: 1 },
  });
  mock.addFixture({
    match: { predicate: (body) => look(body).fault?.kind === 'invalid-json' },
    response: nothing,
    chaos: { malformedRate: 1 },
  });
  mock.addFixture({
    match: { predicate: () => true },
    response: (body) => respond(body, look(body).fault, script),
    ...delay,
  });
  await mock.start();
  let open = true;
  return {
    baseUrl: `http://127.0.0.1:${mock.port}/v1`,
    port: mock.port,
    calls: () => [...calls],
    fail: (...more) => {
      faults.push(...more);
    },
    play: (next) => {
      script = next;
    },
    close: async () => {
      if (!open) return;
      open = false;
      await mock.stop();
    },
  };
}

function respond(
  body: ChatCompletionRequest,
  fault: ModelFault | null,
  script: ModelScript,
): FixtureResponse {
  if (fault?.kind === 'rate-limit') {
    const error = { message: 'Rate limit reached', type: 'rate_limit_error', code: 'rate_limit_exceeded' };
    return { error, status: 429, retryAfter: fault.retryAfterSeconds };
  }
  if (fault?.kind === 'status') {
    return { error: { message: 'The server had an error', type: 'server_error' }, status: fault.status };
  }
  const view = viewOf(body);
  if (view === null) return { error: { message: 'No station asks like this' }, status: 400 };
  if (fault?.kind === 'words') return worded(body, 'I shall think about it.');
  if (fault?.kind === 'outside-schema')
    return called(body, { calls: [{ tool: 'read_file', arguments: { file: 7 } }] });
  const answer = script(view);
  return answer.calls.length === 0 ? worded(body, answer.text ?? '') : called(body, answer);
}

function worded(body: ChatCompletionRequest, content: string): FixtureResponse {
  return { content, usage: usageOf(body, content) };
}

function called(body: ChatCompletionRequest, answer: ScriptedAnswer): FixtureResponse {
  const toolCalls = answer.calls.map((step, index) => {
    const text = JSON.stringify(step.arguments);
    // The same conversation gets the same ids, as a replay of it should.
    const id = createHash('sha256')
      .update(`${body.messages.length}:${index}:${step.tool}:${text}`)
      .digest('hex');
    return { id: `call_${id.slice(0, 24)}`, name: step.tool, arguments: text };
  });
  return { toolCalls, usage: usageOf(body, JSON.stringify(toolCalls)) };
}

/** Token numbers as a provider would report them for this request and answer. */
function usageOf(
  body: ChatCompletionRequest,
  answer: string,
): { prompt_tokens: number; completion_tokens: number } {
  const count = (text: string) => countTokens(text, { disallowedSpecial: new Set<string>() });
  const prompt = count(JSON.stringify(body.messages)) + count(JSON.stringify(body.tools ?? []));
  return { prompt_tokens: prompt, completion_tokens: count(answer) };
}
