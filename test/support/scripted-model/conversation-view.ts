/** What a scripted model sees of a conversation: which station asks, which attempt it is, and how far its script has come. */
import type { ChatCompletionRequest, ChatMessage } from '@copilotkit/aimock';

export type ScriptedStation = 'planning' | 'executing' | 'recovering';

export interface ConversationView {
  readonly station: ScriptedStation;
  /** From 1; failed attempts so far plus one. */
  readonly attempt: number;
  /** Answers with tool calls that the service has taken, those dropped from view included. */
  readonly position: number;
  /** Results of the tool calls that are still in view, in order. */
  readonly results: readonly { readonly tool: string; readonly text: string }[];
  /** Text of the system message and of the task. */
  readonly system: string;
  readonly task: string;
}

const FINISHING: Readonly<Record<string, ScriptedStation>> = {
  finish_plan: 'planning',
  finish_patch: 'executing',
  update_plan: 'recovering',
};

/** Reads a request, or null when it is none of the three stations'. Nothing is remembered between requests. */
export function viewOf(request: ChatCompletionRequest): ConversationView | null {
  const names = (request.tools ?? []).map((tool) => tool.function.name);
  const station = names.map((name) => FINISHING[name]).find((found) => found !== undefined);
  if (station === undefined) return null;
  const task = textOf(request.messages.find((message) => message.role === 'user'));
  const failed = new Set([...task.matchAll(/^<data attempt (\d+)>$/gm)].map((match) => match[1])).size;
  return {
    station,
    attempt: failed + 1,
    position: positionOf(request.messages),
    results: resultsOf(request.messages),
    system: textOf(request.messages.find((message) => message.role === 'system')),
    task,
  };
}

/** The text of a message, `` for none. */
export function textOf(message: ChatMessage | undefined): string {
  if (message === undefined || message.content === null) return '';
  if (typeof message.content === 'string') return message.content;
  return message.content.map((part) => part.text ?? '').join('');
}

function positionOf(messages: readonly ChatMessage[]): number {
  const refused = new Set(
    messages
      .filter((message) => message.role === 'tool' && isSchemaRefusal(textOf(message)))
      .map((message) => message.tool_call_id),
  );
  const taken = messages.filter((message) => {
    const calls = message.tool_calls ?? [];
    return message.role === 'assistant' && calls.length > 0 && !calls.every((call) => refused.has(call.id));
  });
  return taken.length + droppedSteps(messages);
}

function isSchemaRefusal(text: string): boolean {
  return text.startsWith('The arguments of ') || text.startsWith('There is no tool ');
}

function droppedSteps(messages: readonly ChatMessage[]): number {
  const summary = messages.filter((message) => message.role === 'user').map(textOf);
  return Number(summary.map((text) => /^Summary of (\d+) earlier steps/.exec(text)?.[1]).find(Boolean) ?? 0);
}

function resultsOf(messages: readonly ChatMessage[]): { tool: string; text: string }[] {
  const calls = messages.flatMap((message) => message.tool_calls ?? []);
  return messages
    .filter((message) => message.role === 'tool')
    .map((message) => ({
      tool: calls.find((call) => call.id === message.tool_call_id)?.function.name ?? 'unknown',
      text: textOf(message),
    }));
}
