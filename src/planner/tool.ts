/** A tool of the model: told to it as a JSON schema, its arguments checked before anything is done. */
import { z } from 'zod';
import type { ToolDescription } from './chat-messages.js';

/** What calling a tool gave. */
export type ToolOutcome<Result> =
  /** Text for the model; failures that the model can act on are results too. */
  | { readonly kind: 'result'; readonly text: string }
  /** The arguments do not fit the schema. */
  | { readonly kind: 'invalid'; readonly text: string }
  /** The conversation has reached its end. */
  | { readonly kind: 'finished'; readonly value: Result };

export interface Tool<Result = never> {
  readonly description: ToolDescription;
  /** Whether it can change the workspace; such calls are not repeated after a restart. */
  readonly changesWorkspace: boolean;
  /** Performs it with the model's JSON text. Throws only what the station cannot go on from (sandbox away, cancelled). */
  call(argumentsJson: string): Promise<ToolOutcome<Result>>;
  /** One short line on what it does, for the log; safe for any text. */
  summary(argumentsJson: string): string;
}

export interface ToolSpec<Schema extends z.ZodType, Result> {
  readonly name: string;
  readonly description: string;
  readonly schema: Schema;
  readonly changesWorkspace?: boolean;
  /** The part of the arguments worth a log line. */
  readonly subject?: (input: z.infer<Schema>) => string;
  readonly run: (input: z.infer<Schema>) => Promise<ToolOutcome<Result>>;
}

const SUBJECT_CHARACTERS = 80;

/** Makes a tool from a zod schema; the schema is what the model is told and what its arguments are checked by. */
export function defineTool<Schema extends z.ZodType, Result = never>(
  spec: ToolSpec<Schema, Result>,
): Tool<Result> {
  const { $schema: _, ...parameters } = z.toJSONSchema(spec.schema, { target: 'draft-7', io: 'input' });
  const read = (argumentsJson: string) => {
    const json = parseJson(argumentsJson);
    return json === undefined ? null : spec.schema.safeParse(json);
  };
  return {
    description: { name: spec.name, description: spec.description, parameters },
    changesWorkspace: spec.changesWorkspace ?? false,
    async call(argumentsJson) {
      const parsed = read(argumentsJson);
      if (parsed === null) return invalid(spec.name, 'they are not valid JSON (was the answer cut off?)');
      if (!parsed.success) return invalid(spec.name, z.prettifyError(parsed.error));
      return spec.run(parsed.data);
    },
    summary(argumentsJson) {
      const parsed = read(argumentsJson);
      const subject = parsed?.success === true ? (spec.subject?.(parsed.data) ?? '') : '';
      const line = `${spec.name} ${subject}`.replace(/\s+/g, ' ').trim();
      return line.length > SUBJECT_CHARACTERS ? `${line.slice(0, SUBJECT_CHARACTERS)}…` : line;
    },
  };
}

/** Text for the model as an outcome. */
export function result(text: string): { readonly kind: 'result'; readonly text: string } {
  return { kind: 'result', text };
}

function invalid(name: string, why: string): { readonly kind: 'invalid'; readonly text: string } {
  return { kind: 'invalid', text: `The arguments of ${name} do not fit its schema: ${why}` };
}

function parseJson(text: string): unknown {
  try {
    // Some servers send an empty text for a call without arguments.
    return JSON.parse(text.trim() === '' ? '{}' : text);
  } catch {
    return undefined;
  }
}
