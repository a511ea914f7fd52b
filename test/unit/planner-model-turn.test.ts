import { beforeEach, describe, expect, it } from 'vitest';
import { PeerError } from '../../src/domain/errors.js';
import type { ChatRequest } from '../../src/planner/chat-messages.js';
import { openModelTurns } from '../../src/planner/model-turn.js';
import type { CallOutcome, ChatModel } from '../../src/planner/openai-planner.js';
import {
  type MemoryJournal,
  type MemoryMoney,
  memoryJournal,
  memoryMoney,
} from '../support/planner-fakes/memory-money.js';

const request: ChatRequest = { messages: [{ role: 'user', content: 'task' }], tools: [] };
const body = JSON.stringify({
  choices: [{ finish_reason: 'stop', message: { content: 'yes' } }],
  usage: { prompt_tokens: 10, completion_tokens: 5 },
});
const repository = {
  id: '1',
  owner: 'o',
  name: 'n',
  installationId: 7,
  defaultBranch: 'main',
  cloneUrl: 'http://127.0.0.1/o/n.git',
};
const lost = new PeerError({ code: 'MODEL_CALL_CUT', message: 'cut' });

let money: MemoryMoney;
let journal: MemoryJournal;
let asked: number;

beforeEach(() => {
  money = memoryMoney();
  journal = memoryJournal();
  asked = 0;
});

/** One dollar per token of either kind, at most 100 output tokens. */
function model(...outcomes: CallOutcome[]): ChatModel {
  return {
    name: 'm',
    maxOutputTokens: 100,
    costUsd: (usage) => usage.promptTokens + usage.completionTokens,
    async call() {
      asked += 1;
      return outcomes.shift() ?? { kind: 'answered', body };
    },
  };
}

function turns(chat: ChatModel, runLimitUsd = 10_000) {
  const context = { signal: new AbortController().signal, now: () => 1 };
  return openModelTurns(
    { model: chat, money, journal },
    { effectKey: 'k', run: 'r', repository, runLimitUsd },
    context,
  );
}

describe('a paid turn', () => {
  it('reserves the worst case before the call and settles what the provider reports', async () => {
    let reserved = 0;
    const chat = model();
    const watching: ChatModel = {
      ...chat,
      call: (...args) => {
        reserved = money.bookings.get('k:0:1')?.usd ?? 0;
        return chat.call(...args);
      },
    };
    const answer = await (await turns(watching)).ask(0, request);
    expect(reserved).toBeGreaterThan(100);
    expect(money.bookings.get('k:0:1')).toEqual({ usd: 15, state: 'settled' });
    expect(answer).toMatchObject({ body, replayed: false, usd: 15, promptTokens: 10, completionTokens: 5 });
    expect(journal.answered).toMatchObject([{ effectKey: 'k', turn: 0, response: body, usd: 15 }]);
  });

  it('does not call when a limit has no room', async () => {
    await expect((await turns(model(), 50)).ask(0, request)).rejects.toMatchObject({ name: 'BudgetError' });
    expect(asked).toBe(0);
  });

  it('replays a journaled answer without a call, and settles it again in case the crash fell in between', async () => {
    await (await turns(model())).ask(0, request);
    money.bookings.set('k:0:1', { usd: 120, state: 'reserved' });
    const answer = await (await turns(model())).ask(0, request);
    expect(answer).toMatchObject({ body, replayed: true });
    expect(asked).toBe(1);
    expect(money.bookings.get('k:0:1')).toEqual({ usd: 15, state: 'settled' });
  });

  it('books a cut call in full and tries once more under a booking of its own', async () => {
    await (await turns(model({ kind: 'unknown', error: lost }))).ask(0, request);
    expect(money.bookings.get('k:0:1')?.state).toBe('reserved');
    expect(money.bookings.get('k:0:2')).toEqual({ usd: 15, state: 'settled' });
  });

  it('is never sent a third time, over restarts', async () => {
    const cut: CallOutcome = { kind: 'unknown', error: lost };
    await expect((await turns(model(cut, cut, cut))).ask(0, request)).rejects.toBe(lost);
    expect(asked).toBe(2);
    await expect((await turns(model())).ask(0, request)).rejects.toMatchObject({
      code: 'MODEL_ATTEMPTS_EXHAUSTED',
      retryable: false,
    });
    expect(asked).toBe(2);
  });

  it('gives the money back when the provider refused, and such a call does not count', async () => {
    const error = new PeerError({ code: 'MODEL_FAILED', message: 'down' });
    await expect((await turns(model({ kind: 'not-charged', error }))).ask(0, request)).rejects.toBe(error);
    expect(money.bookings.get('k:0:1')?.state).toBe('released');
    for (let again = 0; again < 3; again += 1) {
      await expect((await turns(model({ kind: 'not-charged', error }))).ask(0, request)).rejects.toBe(error);
    }
    expect(await (await turns(model())).ask(0, request)).toMatchObject({ body });
  });

  it('keeps the worst case booked when the answer reports no usage', async () => {
    await (await turns(model({ kind: 'answered', body: 'not json' }))).ask(0, request);
    expect(money.bookings.get('k:0:1')?.usd).toBeGreaterThan(100);
  });
});
