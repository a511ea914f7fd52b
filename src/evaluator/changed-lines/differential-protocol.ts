/** The border to the differential harness inside the sandbox (sandbox/harness/differential.mjs). */
import { z } from 'zod';
import type { CommandResult } from '../../domain/sandbox.js';
import { coverageMembers, readAnswer, WORKSPACE_ROOT } from './coverage-protocol.js';
import type { DifferentialInputs } from './recorded-calls.js';

export const DIFFERENTIAL_ARGV = ['node', '/opt/hasten/harness/differential.mjs'] as const;

const functionSchema = z.object({
  name: z.string(),
  own: z.string(),
  arity: z.number(),
  construct: z.boolean(),
  /** Whether its inputs are, or come from, calls that stand in the repository. */
  recorded: z.boolean(),
  methods: z.array(z.object({ name: z.string(), arity: z.number() })),
});
export type ComparedFunction = z.infer<typeof functionSchema>;

/** Which function (by its place in the list), which input, how it ended, and a hash of what it gave. */
const callSchema = z.tuple([
  z.number(),
  z.number(),
  z.enum(['returned', 'threw', 'endless', 'pending', 'crashed', 'gone']),
  z.string(),
]);
export type ComparedCall = z.infer<typeof callSchema>;

const moduleSchema = z.object({
  path: z.string(),
  /** Why the module could not be loaded. */
  error: z.string().nullable(),
  functions: z.array(functionSchema),
  calls: z.array(callSchema),
  /** What was asked for in `details`, as text. */
  shown: z.array(z.object({ call: z.tuple([z.number(), z.number()]), input: z.string(), text: z.string() })),
});
export type ComparedModule = z.infer<typeof moduleSchema>;

const answerSchema = z.object({ nonce: z.string(), modules: z.array(moduleSchema), ...coverageMembers });
export type DifferentialAnswer = z.infer<typeof answerSchema>;

/** What the patch and the base's second run repeat. */
export interface CallPlan {
  readonly functions: readonly ComparedFunction[];
  readonly calls: readonly (readonly [number, number])[];
}

export interface DifferentialRequest {
  readonly nonce: string;
  readonly files: readonly string[];
  readonly modules: readonly string[];
  /** One per module; null: explore, within the budget. */
  readonly plans: readonly CallPlan[] | null;
  readonly inputs: DifferentialInputs;
  readonly seed: string;
  /** Seed of `Math.random`. */
  readonly chance: string;
  /** CPU milliseconds of exploring. */
  readonly budgetMs: number;
  /** Inputs per function at most. */
  readonly mostCalls: number;
  /** Milliseconds that one call may take. */
  readonly callMs: number;
  readonly timeoutMs: number;
  readonly details: readonly { readonly module: string; readonly call: readonly [number, number] }[] | null;
}

export function differentialRequest({ inputs, ...request }: DifferentialRequest): string {
  return JSON.stringify({ ...request, ...inputs, root: WORKSPACE_ROOT });
}

/** The one answer with the nonce; null for everything else. */
export function readDifferential(result: CommandResult, nonce: string): DifferentialAnswer | null {
  return readAnswer(answerSchema, result, nonce);
}
