/** Counts input tokens before a call, on the safe side, since the worst case of the call is reserved from it. */
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { ChatMessage, ChatRequest } from './chat-messages.js';

/** Other models' tokenizers differ from this one; the share is added on top. */
const SAFETY_SHARE = 0.2;
/** What chat formats add around each message and each tool. */
const TOKENS_PER_ITEM = 8;
/** Byte pair encoding gets slow on long runs without a boundary, so long text is counted in pieces; that counts a little more. */
const PIECE_CHARACTERS = 2000;
const asText = { disallowedSpecial: new Set<string>() };

/** Tokens of a text by o200k_base; special-token look-alikes in it count as plain text. */
export function countText(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
    sum += countTokens(text.slice(at, at + PIECE_CHARACTERS), asText);
  }
  return sum;
}

const counted = new WeakMap<ChatMessage, number>();

/** Tokens of one message with its envelope; remembered per message object. */
export function countMessage(message: ChatMessage): number {
  const known = counted.get(message);
  if (known !== undefined) return known;
  let sum = TOKENS_PER_ITEM + countText(message.content ?? '');
  if (message.role === 'assistant') {
    for (const call of message.tool_calls ?? []) {
      sum += TOKENS_PER_ITEM + countText(call.function.name) + countText(call.function.arguments);
    }
  }
  counted.set(message, sum);
  return sum;
}

/** Upper estimate of the input tokens of a whole request: messages and tool schemas, plus the safety share. */
export function countRequest(request: ChatRequest): number {
  const messages = request.messages.reduce((sum, message) => sum + countMessage(message), 0);
  const tools = request.tools.reduce(
    (sum, tool) => sum + TOKENS_PER_ITEM + countText(JSON.stringify(tool)),
    0,
  );
  return Math.ceil((messages + tools) * (1 + SAFETY_SHARE));
}
