import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AssistantMessage, ChatMessage, ToolMessage } from '../../src/planner/chat-messages.js';
import { countMessage } from '../../src/planner/token-count.js';
import { createWorkingMemory } from '../../src/planner/working-memory.js';

function exchange(
  id: number,
  sizes: readonly number[],
  argumentSize = 10,
): [AssistantMessage, ToolMessage[]] {
  const calls = sizes.map((_, index) => ({
    id: `c${id}-${index}`,
    type: 'function' as const,
    function: {
      name: 'read_file',
      arguments: JSON.stringify({ path: `f${id}`, pad: 'y '.repeat(argumentSize) }),
    },
  }));
  const results = sizes.map((size, index) => ({
    role: 'tool' as const,
    tool_call_id: `c${id}-${index}`,
    content: `result ${id} ${'word '.repeat(size)}`,
  }));
  return [{ role: 'assistant', content: null, tool_calls: calls }, results];
}

function tokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + countMessage(message), 0);
}

/** Every tool result follows the answer that called it, and every call has its result. */
function isPaired(messages: readonly ChatMessage[]): boolean {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id)) return false;
      open = open.filter((id) => id !== message.tool_call_id);
    } else {
      if (open.length > 0) return false;
      if (message.role === 'assistant') open = (message.tool_calls ?? []).map((call) => call.id);
    }
  }
  return open.length === 0;
}

const options = { system: 'rules', task: 'the task', tokenBudget: 6_000, toolResultBytes: 8_000 };

describe('working memory', () => {
  it('keeps budget, pairs, pinned messages and the newest exchange over any conversation', () => {
    const step = fc.record({
      sizes: fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 3 }),
      argumentSize: fc.integer({ min: 0, max: 2500 }),
      note: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 15 }), (steps) => {
        const memory = createWorkingMemory(options);
        for (const [index, one] of steps.entries()) {
          memory.addAnswer(...exchange(index, one.sizes, one.argumentSize));
          if (one.note) memory.addNote(`note ${index}`);
          const messages = memory.messages();
          expect(tokens(messages)).toBeLessThanOrEqual(options.tokenBudget);
          expect(isPaired(messages)).toBe(true);
          expect(messages[0]).toEqual({ role: 'system', content: 'rules' });
          expect(messages[1]).toEqual({ role: 'user', content: 'the task' });
          expect(messages.some((message) => JSON.stringify(message).includes(`f${index}`))).toBe(true);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('cuts a long tool result to head and tail', () => {
    const memory = createWorkingMemory(options);
    memory.addAnswer(...exchange(1, [20_000]));
    const shown = memory.messages().find((message) => message.role === 'tool');
    expect(shown?.content?.startsWith('result 1')).toBe(true);
    expect(Buffer.byteLength(shown?.content ?? '')).toBeLessThanOrEqual(options.toolResultBytes);
  });

  it('says what was dropped, with the number of steps', () => {
    const memory = createWorkingMemory(options);
    for (let index = 0; index < 30; index += 1) memory.addAnswer(...exchange(index, [400], 300));
    const messages = memory.messages();
    const shown = messages.filter((message) => message.role === 'assistant').length;
    expect(shown).toBeLessThan(30);
    expect(messages[2]?.content).toContain(`Summary of ${30 - shown} earlier steps`);
    expect(messages[2]?.content).toContain('read_file');
  });
});
