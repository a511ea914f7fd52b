/** Compares what base and patch answer to the same generated inputs, in containers; a difference refuses the patch. */
import { randomUUID } from 'node:crypto';
import type { Workspace } from '../../domain/sandbox.js';
import { allSettled } from '../all-settled.js';
import type { EvaluationContext } from '../evaluation-context.js';
import { StepFailed } from '../step-failed.js';
import { ANSWER_BYTES } from './coverage-protocol.js';
import {
  type CallPlan,
  type ComparedCall,
  type ComparedModule,
  DIFFERENTIAL_ARGV,
  type DifferentialAnswer,
  type DifferentialRequest,
  differentialRequest,
  readDifferential,
} from './differential-protocol.js';
import type { DifferentialInputs } from './recorded-calls.js';

export interface Compared {
  /** What the patch executed meanwhile; null where nothing could be compared. */
  readonly coverage: DifferentialAnswer | null;
  /** Inputs that base and patch answered alike. */
  readonly equal: number;
  /** Functions whose answers are not the same on the base itself. */
  readonly leftOut: readonly string[];
  /** Functions that only inner modules export, with another answer to inputs that no code of the repository shows. */
  readonly doubtful: readonly string[];
}

const BUDGET_MS = 1500;
const MOST_CALLS = 200;
const BASE_CALL_MS = 100;
/** The patch gets so much more that a busy machine is no difference. */
const PATCH_CALL_MS = 5000;
const TIMEOUT_MS = 45_000;

/**
 * The base decides how many inputs there are; a second run of it, with other chance, shows which functions cannot be
 * compared; the patch repeats the same inputs. Only an input that the base answered counts: where it threw, never came
 * back or crashed, nothing is expected of the patch. A difference refuses where the input comes from calls in the
 * repository, or the function is one that users call; what an inner module makes of inputs that it may never get is
 * only told. Throws StepFailed `OUTPUT_DIFFERS` with the input and both answers.
 */
export async function compareOutputs(
  context: EvaluationContext,
  built: { readonly base: Workspace; readonly patch: Workspace },
  subject: {
    readonly modules: readonly string[];
    /** Which of them is what users of the package load. */
    readonly entry: string | null;
    readonly files: readonly string[];
    readonly inputs: DifferentialInputs;
  },
): Promise<Compared> {
  const nothing: Compared = { coverage: null, equal: 0, leftOut: [], doubtful: [] };
  if (subject.modules.length === 0) return nothing;
  context.station.progress('comparing base and patch on generated inputs');
  const { modules, files, inputs } = subject;
  const ask = {
    modules,
    files,
    inputs,
    seed: context.patch.digest,
    timeoutMs: TIMEOUT_MS,
    budgetMs: BUDGET_MS,
  };
  const first = { plans: null, chance: 'first', mostCalls: MOST_CALLS, callMs: BASE_CALL_MS, details: null };
  const base = await run(context, built.base, { ...ask, ...first });
  if (base === null) return nothing;
  const plans = base.modules.map(planOf);
  const again = { ...first, plans, callMs: PATCH_CALL_MS };
  const [second, patch] = await allSettled([
    run(context, built.base, { ...ask, ...again, chance: 'second' }),
    run(context, built.patch, { ...ask, ...again }),
  ]);
  if (second === null || patch === null) return nothing;
  const comparison = compareAnswers(base, second, patch);
  const certain = comparison.differences.filter((each) => each.recorded || each.module === subject.entry);
  const [difference] = certain;
  if (difference !== undefined) {
    const details = [difference];
    const [onBase, onPatch] = await allSettled([
      run(context, built.base, { ...ask, ...again, details }),
      run(context, built.patch, { ...ask, ...again, details }),
    ]);
    throw outputDiffers(difference, certain.length, onBase, onPatch);
  }
  const doubtful = comparison.differences.map((each) => `${each.function} of ${each.module}`);
  return { ...comparison, coverage: patch, doubtful: [...new Set(doubtful)] };
}

/** Calls that came to an end on the base; the others would only cost the patch its time. */
function planOf({ functions, calls }: ComparedModule): CallPlan {
  const ended = calls.filter(([, , kind]) => kind === 'returned' || kind === 'threw');
  return { functions, calls: ended.map(([which, index]) => [which, index]) };
}

export interface Difference {
  readonly module: string;
  readonly function: string;
  readonly call: readonly [number, number];
  /** Whether the input comes from calls that stand in the repository. */
  readonly recorded: boolean;
  readonly onPatch: ComparedCall[2];
}

/** What three answers say: pure. */
export function compareAnswers(
  base: DifferentialAnswer,
  second: DifferentialAnswer,
  patch: DifferentialAnswer,
): {
  readonly equal: number;
  readonly leftOut: readonly string[];
  readonly differences: readonly Difference[];
} {
  const differences: Difference[] = [];
  const leftOut = new Set<string>();
  let equal = 0;
  base.modules.forEach((module, at) => {
    const [again, patched] = [byCall(second.modules[at]), byCall(patch.modules[at])];
    const returned = module.calls.filter(([, , kind]) => kind === 'returned');
    const random = new Set(
      returned.filter((call) => !sameAnswer(call, again.get(keyOf(call)))).map(([which]) => which),
    );
    for (const which of random) leftOut.add(module.functions[which]?.name ?? '');
    for (const call of returned) {
      const [which, index] = call;
      const other = patched.get(keyOf(call));
      if (random.has(which)) continue;
      if (sameAnswer(call, other)) equal++;
      else if (other !== undefined) {
        const { name = '', recorded = false } = module.functions[which] ?? {};
        const found = { module: module.path, function: name, recorded, onPatch: other[2] };
        differences.push({ ...found, call: [which, index] });
      }
    }
  });
  return { equal, leftOut: [...leftOut], differences };
}

function byCall(module: ComparedModule | undefined): ReadonlyMap<string, ComparedCall> {
  return new Map((module?.calls ?? []).map((call) => [keyOf(call), call]));
}

function keyOf([which, index]: ComparedCall): string {
  return `${which}:${index}`;
}

function sameAnswer(a: ComparedCall, b: ComparedCall | undefined): boolean {
  return b !== undefined && a[2] === b[2] && a[3] === b[3];
}

function outputDiffers(
  difference: Difference,
  count: number,
  onBase: DifferentialAnswer | null,
  onPatch: DifferentialAnswer | null,
): StepFailed {
  const shown = (answer: DifferentialAnswer | null) =>
    answer?.modules.find(({ path }) => path === difference.module)?.shown[0];
  const [base, patch] = [shown(onBase), shown(onPatch)];
  const text =
    difference.onPatch === 'returned' ? (patch?.text ?? 'something else') : `(${difference.onPatch})`;
  const inputs = count === 1 ? 'one generated input' : `${count} generated inputs`;
  return new StepFailed({
    code: 'OUTPUT_DIFFERS',
    message: `Base and patch answer ${inputs} differently: ${difference.function} of ${difference.module}.`,
    evidence: [
      `Input: ${base?.input ?? 'not shown'}`,
      `Base:  ${base?.text ?? 'not shown'}`,
      `Patch: ${text}`,
      'The answers are the result, then the arguments as the call left them.',
    ].join('\n'),
  });
}

async function run(
  context: EvaluationContext,
  workspace: Workspace,
  request: Omit<DifferentialRequest, 'nonce'>,
): Promise<DifferentialAnswer | null> {
  const nonce = randomUUID();
  const result = await context.sandbox.run(
    workspace,
    {
      argv: DIFFERENTIAL_ARGV,
      stdin: differentialRequest({ nonce, ...request }),
      timeoutMs: TIMEOUT_MS + 15_000,
      memoryBytes: context.settings.memoryBytes,
      outputBytes: ANSWER_BYTES,
      readOnlyWorkspace: true,
    },
    context.station.signal,
  );
  return readDifferential(result, nonce);
}
