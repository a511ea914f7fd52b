import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { converse } from '../../src/planner/conversation.js';
import type { ModelTurns } from '../../src/planner/model-turn.js';
import { defineTool, result, type Tool } from '../../src/planner/tool.js';
import { createWorkingMemory } from '../../src/planner/working-memory.js';

type Call = readonly [name: string, input: unknown];

function bodyOf(calls: readonly Call[], content: string | null = null, finishReason = 'tool_calls'): string {
  const tool_calls = calls.map(([name, input], index) => ({
    id: `c${index}`,
    type: 'function',
    function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
  }));
  return JSON.stringify({ choices: [{ finish_reason: finishReason, message: { content, tool_calls } }] });
}

interface Played {
  readonly result: Promise<string>;
  readonly done: string[];
  readonly changes: number[];
  readonly lastRequest: () => string;
}

function play(
  bodies: readonly string[],
  options: { maxTurns?: number; appliedThrough?: number } = {},
): Played {
  const done: string[] = [];
  const changes: number[] = [];
  let last = '';
  const turns: ModelTurns = {
    answered: 0,
    async ask(turn, request) {
      last = JSON.stringify(request.messages);
      const body = bodies[Math.min(turn, bodies.length - 1)] ?? '';
      return { body, replayed: false, promptTokens: 1, completionTokens: 1, usd: 0 };
    },
  };
  const look = defineTool({
    name: 'look',
    description: 'looks',
    schema: z.object({ at: z.string() }),
    run: async ({ at }) => {
      done.push(`look ${at}`);
      return result(`seen ${at}`);
    },
  });
  const change = defineTool({
    name: 'change',
    description: 'changes',
    schema: z.object({ to: z.string() }),
    changesWorkspace: true,
    run: async ({ to }) => {
      done.push(`change ${to}`);
      return result('changed');
    },
  });
  const finish: Tool<string> = defineTool<z.ZodObject<{ word: z.ZodString }>, string>({
    name: 'finish',
    description: 'ends',
    schema: z.object({ word: z.string() }),
    run: async ({ word }) => ({ kind: 'finished', value: word }),
  });
  const memory = createWorkingMemory({ system: 's', task: 't', tokenBudget: 8000, toolResultBytes: 4000 });
  const spec = {
    turns,
    memory,
    tools: [look, change, finish],
    maxTurns: options.maxTurns ?? 20,
    appliedThrough: options.appliedThrough ?? -1,
    afterChange: async (turn: number) => {
      changes.push(turn);
    },
    progress: () => undefined,
    signal: new AbortController().signal,
  };
  return { result: converse<string>(spec), done, changes, lastRequest: () => last };
}

describe('the conversation with the model', () => {
  it('runs tools in order, keeps the patch once per changing turn, and ends with the finishing value', async () => {
    const played = play([
      bodyOf([['look', { at: 'a' }]]),
      bodyOf([
        ['change', { to: 'x' }],
        ['change', { to: 'y' }],
      ]),
      bodyOf([['finish', { word: 'done' }]]),
    ]);
    expect(await played.result).toBe('done');
    expect(played.done).toEqual(['look a', 'change x', 'change y']);
    expect(played.changes).toEqual([1]);
  });

  it('does nothing that comes after the finishing call', async () => {
    const played = play([
      bodyOf([
        ['finish', { word: 'done' }],
        ['change', { to: 'late' }],
      ]),
    ]);
    expect(await played.result).toBe('done');
    expect(played.done).toEqual([]);
  });

  it('does not repeat changes that are in the workspace already, but looks again', async () => {
    const played = play(
      [
        bodyOf([
          ['look', { at: 'a' }],
          ['change', { to: 'x' }],
        ]),
        bodyOf([['change', { to: 'y' }]]),
        bodyOf([['finish', { word: 'w' }]]),
      ],
      { appliedThrough: 0 },
    );
    await played.result;
    expect(played.done).toEqual(['look a', 'change y']);
    expect(played.changes).toEqual([1]);
    expect(played.lastRequest()).toContain('before a restart');
  });

  it('tells the model what is wrong with its arguments and goes on when the next answer fits', async () => {
    const played = play([
      bodyOf([['look', { where: 1 }]]),
      bodyOf([['look', { at: 'a' }]]),
      bodyOf([['finish', '{"word": "cut o']], null, 'length'),
      bodyOf([['finish', { word: 'w' }]]),
    ]);
    expect(await played.result).toBe('w');
    expect(played.lastRequest()).toContain('not valid JSON');
  });

  it.each([
    ['an unknown tool', bodyOf([['sudo', {}]])],
    ['arguments outside the schema', bodyOf([['look', { at: 4 }]])],
    ['a body that is no completion', 'oops'],
  ])('gives up after two answers in a row with %s', async (_, body) => {
    await expect(play([body, body]).result).rejects.toMatchObject({
      code: 'MODEL_ANSWER_INVALID',
      retryable: false,
    });
  });

  it('reminds once of the tools, and gives up when words come again', async () => {
    const words = bodyOf([], 'I think it is done.', 'stop');
    const played = play([words, bodyOf([['finish', { word: 'w' }]])]);
    expect(await played.result).toBe('w');
    expect(played.lastRequest()).toContain('calling one of the tools (look, change, finish)');
    await expect(play([words, words]).result).rejects.toMatchObject({ code: 'MODEL_STOPPED' });
  });

  it('ends when the turns are used up', async () => {
    const played = play([bodyOf([['look', { at: 'a' }]])], { maxTurns: 4 });
    await expect(played.result).rejects.toMatchObject({ code: 'MODEL_TURNS_EXHAUSTED', retryable: false });
    expect(played.done).toHaveLength(4);
  });
});
