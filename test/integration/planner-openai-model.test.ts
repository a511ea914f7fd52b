import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../src/planner/chat-messages.js';
import { readAnswer, readUsage } from '../../src/planner/chat-messages.js';
import { type ChatModel, createOpenAiModel } from '../../src/planner/openai-planner.js';
import { findsNothing } from '../support/scripted-model/case-script.js';
import { type ScriptedModel, startScriptedModel } from '../support/scripted-model/scripted-model.js';

const request: ChatRequest = {
  messages: [
    { role: 'system', content: 'rules' },
    { role: 'user', content: 'task' },
  ],
  tools: [
    { name: 'finish_plan', description: 'ends planning', parameters: { type: 'object', properties: {} } },
  ],
};

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function scripted(apiKey?: string): Promise<ScriptedModel> {
  const key = apiKey === undefined ? {} : { apiKey };
  const server = await startScriptedModel({ script: findsNothing('all fine'), ...key });
  closers.push(() => server.close());
  return server;
}

function modelAt(
  baseUrl: string,
  more: { apiKey?: string; retries?: number; callTimeoutMs?: number } = {},
): ChatModel {
  return createOpenAiModel({
    baseUrl,
    apiKey: more.apiKey ?? 'key',
    model: 'gpt-5-mini',
    price: null,
    maxOutputTokens: 1000,
    callTimeoutMs: more.callTimeoutMs ?? 5_000,
    retries: more.retries ?? 2,
    maxRetryWaitMs: 3_000,
    outputLimitField: 'max_completion_tokens',
    random: () => 0,
  });
}

const never = new AbortController().signal;

describe('a call of the model over HTTP', () => {
  it('brings the raw answer with its usage', async () => {
    const server = await scripted();
    const outcome = await modelAt(server.baseUrl).call(request, never);
    if (outcome.kind !== 'answered') throw new Error(outcome.kind);
    const read = readAnswer(outcome.body);
    expect(read.ok && read.answer.message.tool_calls?.[0]?.function.name).toBe('list_files');
    expect(readUsage(outcome.body)?.promptTokens).toBeGreaterThan(10);
    expect(server.calls()[0]?.body.max_completion_tokens).toBe(1000);
  });

  it('waits as long as Retry-After asks after a 429, and goes on after a 500', async () => {
    const server = await scripted();
    server.fail({ kind: 'rate-limit', retryAfterSeconds: 1 }, { kind: 'status', status: 500 });
    const outcome = await modelAt(server.baseUrl).call(request, never);
    expect(outcome.kind).toBe('answered');
    const [first, second, third] = server.calls();
    expect(server.calls()).toHaveLength(3);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(950);
    expect((third?.at ?? 0) - (second?.at ?? 0)).toBeLessThan(950);
  });

  it('gives up at once when Retry-After asks for longer than it may wait, and passes the wish on', async () => {
    const server = await scripted();
    server.fail({ kind: 'rate-limit', retryAfterSeconds: 600 });
    const outcome = await modelAt(server.baseUrl).call(request, never);
    expect(outcome).toMatchObject({
      kind: 'not-charged',
      error: { code: 'MODEL_RATE_LIMITED', retryable: true, retryAfterMs: 600_000 },
    });
    expect(server.calls()).toHaveLength(1);
  });

  it('stops after its retries when the endpoint keeps failing', async () => {
    const server = await scripted();
    server.fail(...Array.from({ length: 3 }, () => ({ kind: 'status', status: 503 }) as const));
    const outcome = await modelAt(server.baseUrl).call(request, never);
    expect(outcome).toMatchObject({ kind: 'not-charged', error: { code: 'MODEL_FAILED', retryable: true } });
    expect(server.calls()).toHaveLength(3);
  });

  it('does not know whether a call was charged when the connection is cut, and does not repeat it itself', async () => {
    const server = await scripted();
    server.fail({ kind: 'cut' });
    const outcome = await modelAt(server.baseUrl).call(request, never);
    expect(outcome).toMatchObject({ kind: 'unknown', error: { code: 'MODEL_CALL_CUT' } });
    expect(server.calls()).toHaveLength(1);
  });

  it('does not know it either when the body breaks off or the answer takes too long', async () => {
    const broken = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"choices":[');
      setTimeout(() => response.destroy(), 50);
    });
    expect(await modelAt(broken).call(request, never)).toMatchObject({ kind: 'unknown' });
    const silent = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"choices":[');
    });
    expect(await modelAt(silent, { callTimeoutMs: 300 }).call(request, never)).toMatchObject({
      kind: 'unknown',
    });
  });

  it('knows that nothing was sent when nobody listens', async () => {
    const server = await scripted();
    await server.close();
    closers.length = 0;
    const outcome = await modelAt(server.baseUrl, { retries: 1 }).call(request, never);
    expect(outcome).toMatchObject({
      kind: 'not-charged',
      error: { code: 'MODEL_UNREACHABLE', retryable: true },
    });
  });

  it('blames the settings when the key is refused, without the key in the text', async () => {
    const server = await scripted('right');
    const outcome = await modelAt(server.baseUrl, { apiKey: 'wrong-secret' }).call(request, never);
    expect(outcome).toMatchObject({
      kind: 'not-charged',
      error: { code: 'MODEL_KEY_REFUSED', fault: 'user' },
    });
    expect(JSON.stringify(outcome)).not.toContain('wrong-secret');
  });

  it('keeps an answer that is no JSON as it came', async () => {
    const server = await scripted();
    server.fail({ kind: 'invalid-json' });
    const outcome = await modelAt(server.baseUrl).call(request, never);
    if (outcome.kind !== 'answered') throw new Error(outcome.kind);
    expect(readAnswer(outcome.body)).toMatchObject({ ok: false });
    expect(readUsage(outcome.body)).toBeNull();
  });

  it('stops waiting when the run is cancelled', async () => {
    const server = await scripted();
    server.fail({ kind: 'rate-limit', retryAfterSeconds: 2 });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 200);
    const started = Date.now();
    await expect(modelAt(server.baseUrl).call(request, controller.signal)).rejects.toThrow();
    expect(Date.now() - started).toBeLessThan(1500);
  });
});

async function listen(handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
