/** The loop that planning, executing and recovering share: ask the model, run its tools, until one of them ends it. */
import { PeerError } from '../domain/errors.js';
import { type AssistantMessage, readAnswer, type ToolCall, type ToolMessage } from './chat-messages.js';
import type { ModelTurns, TurnAnswer } from './model-turn.js';
import type { Tool, ToolOutcome } from './tool.js';
import type { WorkingMemory } from './working-memory.js';

export interface ConversationSpec<Result> {
  readonly turns: ModelTurns;
  readonly memory: WorkingMemory;
  readonly tools: readonly Tool<Result>[];
  /** Answers of the model after which it is given up. */
  readonly maxTurns: number;
  /** Last turn whose changes are in the workspace already, or -1: its changing calls are not repeated. */
  readonly appliedThrough: number;
  /** Called after each turn that may have changed the workspace. */
  readonly afterChange: (turn: number) => Promise<void>;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

interface TurnResult<Result> {
  readonly messages: readonly ToolMessage[];
  readonly finished: { readonly value: Result } | null;
  readonly invalid: boolean;
  readonly changed: boolean;
}

const ALREADY_APPLIED =
  'Done before a restart of the service; its effect is in the workspace, its output is gone. Run it again if you need the output.';

/**
 * Talks until a finishing tool accepts. An answer outside the schema gets one repair turn, an answer without a tool call one
 * reminder. Throws PeerError `MODEL_ANSWER_INVALID`, `MODEL_STOPPED`, `MODEL_TURNS_EXHAUSTED` (none retryable), and what
 * a turn or a tool throws.
 */
export async function converse<Result>(spec: ConversationSpec<Result>): Promise<Result> {
  let repaired = false;
  let reminded = false;
  for (let turn = 0; turn < spec.maxTurns; turn += 1) {
    spec.signal.throwIfAborted();
    const request = { messages: spec.memory.messages(), tools: spec.tools.map((tool) => tool.description) };
    const answer = await spec.turns.ask(turn, request);
    tellTurn(spec, turn, answer);
    const read = readAnswer(answer.body);
    if (!read.ok) {
      if (repaired) throw answerInvalid(read.reason);
      repaired = true;
      spec.memory.addNote(
        `Your last answer could not be read: ${read.reason}. Answer again, by calling a tool.`,
      );
      continue;
    }
    const { message, finishReason } = read.answer;
    if (message.tool_calls === undefined) {
      if (reminded) throw stopped();
      reminded = true;
      spec.memory.addAnswer(withSomeText(message), []);
      spec.memory.addNote(reminder(spec.tools, finishReason));
      continue;
    }
    const done = await runCalls(spec, turn, message.tool_calls);
    spec.memory.addAnswer(message, done.messages);
    if (done.finished !== null) return done.finished.value;
    if (done.invalid && repaired) throw answerInvalid(lastText(done.messages));
    repaired = done.invalid;
    reminded = false;
  }
  throw new PeerError({
    code: 'MODEL_TURNS_EXHAUSTED',
    message: `The model did not come to an end within ${spec.maxTurns} turns.`,
    retryable: false,
  });
}

async function runCalls<Result>(
  spec: ConversationSpec<Result>,
  turn: number,
  calls: readonly ToolCall[],
): Promise<TurnResult<Result>> {
  const messages: ToolMessage[] = [];
  let finished: { readonly value: Result } | null = null;
  let invalid = false;
  let changed = false;
  for (const call of calls) {
    spec.signal.throwIfAborted();
    const tool = spec.tools.find((one) => one.description.name === call.function.name);
    const changes = tool?.changesWorkspace === true;
    const applied = changes && turn <= spec.appliedThrough;
    const outcome: ToolOutcome<Result> =
      finished === null
        ? await runCall(spec, tool, call, applied)
        : { kind: 'result', text: 'Not run: the conversation was over.' };
    changed ||= changes && !applied && outcome.kind === 'result';
    invalid ||= outcome.kind === 'invalid';
    if (outcome.kind === 'finished') finished = { value: outcome.value };
    const content = outcome.kind === 'finished' ? 'Accepted.' : outcome.text;
    messages.push({ role: 'tool', tool_call_id: call.id, content });
  }
  if (changed) await spec.afterChange(turn);
  return { messages, finished, invalid, changed };
}

async function runCall<Result>(
  spec: ConversationSpec<Result>,
  tool: Tool<Result> | undefined,
  call: ToolCall,
  applied: boolean,
): Promise<ToolOutcome<Result>> {
  if (tool === undefined) {
    const names = spec.tools.map((one) => one.description.name).join(', ');
    return { kind: 'invalid', text: `There is no tool "${call.function.name}"; the tools are ${names}.` };
  }
  if (applied) return { kind: 'result', text: ALREADY_APPLIED };
  spec.progress(tool.summary(call.function.arguments));
  return tool.call(call.function.arguments);
}

function tellTurn<Result>(spec: ConversationSpec<Result>, turn: number, answer: TurnAnswer): void {
  const tokens = `${answer.promptTokens} tokens in, ${answer.completionTokens} out, $${answer.usd.toFixed(4)}`;
  spec.progress(`model turn ${turn + 1}${answer.replayed ? ' (from the journal)' : ''}: ${tokens}`);
}

/** Some servers refuse an assistant message with neither text nor calls. */
function withSomeText(message: AssistantMessage): AssistantMessage {
  return message.content === null || message.content === '' ? { ...message, content: '(no text)' } : message;
}

function reminder(tools: readonly Tool<unknown>[], finishReason: string): string {
  const names = tools.map((tool) => tool.description.name).join(', ');
  const cut =
    finishReason === 'length' ? ' Your last answer was cut off at the output limit; be shorter.' : '';
  return `Go on by calling one of the tools (${names}); text alone is not read by anybody.${cut}`;
}

function lastText(messages: readonly ToolMessage[]): string {
  return messages.at(-1)?.content ?? 'no reason';
}

function answerInvalid(reason: string): PeerError {
  return new PeerError({
    code: 'MODEL_ANSWER_INVALID',
    message: `The model's answer was outside the schema twice in a row: ${reason.slice(0, 500)}`,
    retryable: false,
  });
}

function stopped(): PeerError {
  return new PeerError({
    code: 'MODEL_STOPPED',
    message: 'The model stopped calling tools before it had finished, also after a reminder.',
    retryable: false,
  });
}
