/** Working memory of one conversation: a sliding window with a token budget, thrown away when the station ends. */
import { headAndTail } from './bounded-text.js';
import type { AssistantMessage, ChatMessage, TextMessage, ToolMessage } from './chat-messages.js';
import { countMessage } from './token-count.js';

export interface WorkingMemoryOptions {
  /** Rules of the station; always in view. */
  readonly system: string;
  /** The task with its evidence; always in view. */
  readonly task: string;
  /** Tokens that the messages together may have. */
  readonly tokenBudget: number;
  /** Bytes that a tool result keeps, half head and half tail. */
  readonly toolResultBytes: number;
}

/** A model's answer with the results of all its tool calls, or a note of ours. They stay or go together. */
interface Exchange {
  readonly answer: AssistantMessage | null;
  readonly results: readonly ToolMessage[];
  readonly note: TextMessage | null;
}

export interface WorkingMemory {
  /** An answer with one result per tool call, in the order of the calls. */
  addAnswer(answer: AssistantMessage, results: readonly ToolMessage[]): void;
  /** A message of ours to the model. */
  addNote(text: string): void;
  /** What the model gets to see now: pinned messages, a summary of what was dropped, the newest exchanges. */
  messages(): readonly ChatMessage[];
}

/** Results of older exchanges shrink to this before anything is dropped. */
const OLD_RESULT_BYTES = 600;
const SUMMARY_LINES = 40;
const SUMMARY_LINE_CHARACTERS = 120;
/** Kept free for the summary of dropped exchanges. */
const SUMMARY_TOKENS = 2_000;

/** Makes an empty memory. System and task together should leave most of the budget free. */
export function createWorkingMemory(options: WorkingMemoryOptions): WorkingMemory {
  const pinned: readonly TextMessage[] = [
    { role: 'system', content: options.system },
    { role: 'user', content: options.task },
  ];
  const room = options.tokenBudget - SUMMARY_TOKENS - sum(pinned);
  const exchanges: Exchange[] = [];
  return {
    addAnswer(answer, results) {
      const bounded = results.map((one) => cutResult(one, options.toolResultBytes));
      exchanges.push({ answer, results: bounded, note: null });
    },
    addNote(text) {
      exchanges.push({ answer: null, results: [], note: { role: 'user', content: text } });
    },
    messages() {
      const { kept, dropped } = choose(exchanges, room);
      const summary = dropped.length === 0 ? [] : [summarise(dropped)];
      return [...pinned, ...summary, ...kept.flatMap(messagesOf)];
    },
  };
}

function cutResult(message: ToolMessage, bytes: number): ToolMessage {
  const content = headAndTail(message.content, bytes);
  return content === message.content ? message : { ...message, content };
}

function messagesOf(exchange: Exchange): readonly ChatMessage[] {
  const { answer, results, note } = exchange;
  return [...(answer === null ? [] : [answer]), ...results, ...(note === null ? [] : [note])];
}

function sum(messages: readonly ChatMessage[]): number {
  return messages.reduce((total, message) => total + countMessage(message), 0);
}

/** Newest first: whole where there is room, with short results where not, and from the first that does not fit all older ones go. */
function choose(
  exchanges: readonly Exchange[],
  room: number,
): { readonly kept: readonly Exchange[]; readonly dropped: readonly Exchange[] } {
  const kept: Exchange[] = [];
  let left = room;
  let shrink = false;
  for (let index = exchanges.length - 1; index >= 0; index -= 1) {
    const exchange = exchanges[index];
    if (exchange === undefined) break;
    // Once one had to shrink, older ones are shown short as well: the newest words matter most.
    shrink ||= sum(messagesOf(exchange)) > left / 2 && kept.length > 0;
    let shown = shrink ? shortened(exchange) : exchange;
    if (sum(messagesOf(shown)) > left) shown = shortened(exchange);
    if (sum(messagesOf(shown)) > left) return { kept, dropped: exchanges.slice(0, index + 1) };
    left -= sum(messagesOf(shown));
    kept.unshift(shown);
  }
  return { kept, dropped: [] };
}

const shortForms = new WeakMap<Exchange, Exchange>();

function shortened(exchange: Exchange): Exchange {
  const known = shortForms.get(exchange);
  if (known !== undefined) return known;
  const short = { ...exchange, results: exchange.results.map((one) => cutResult(one, OLD_RESULT_BYTES)) };
  shortForms.set(exchange, short);
  return short;
}

function summarise(dropped: readonly Exchange[]): TextMessage {
  const steps = dropped.flatMap((exchange) =>
    exchange.answer?.tool_calls === undefined ? [] : [exchange.answer],
  );
  const lines = steps.flatMap((answer) => {
    return (answer.tool_calls ?? []).map((call) => {
      const line = `- ${call.function.name} ${call.function.arguments}`.replace(/\s+/g, ' ');
      return line.length > SUMMARY_LINE_CHARACTERS ? `${line.slice(0, SUMMARY_LINE_CHARACTERS)}…` : line;
    });
  });
  const shown = lines.slice(-SUMMARY_LINES);
  const more = lines.length - shown.length;
  return {
    role: 'user',
    content: [
      `Summary of ${steps.length} earlier steps that are no longer in view (edits made in them are still in the workspace):`,
      ...(more > 0 ? [`- ${more} older tool calls`] : []),
      ...shown,
    ].join('\n'),
  };
}
