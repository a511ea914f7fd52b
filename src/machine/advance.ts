/** The only door to the statechart: plain JSON in, plain JSON out, nothing runs. */
import { initialTransition, type StateValue, transition } from 'xstate';
import type { TimedEvent } from '../domain/event.js';
import type { MachineState } from '../domain/run.js';
import type { MachineContext } from './guards.js';
import { repositoryMachine } from './repository-machine.js';

/** What is stored on the repository's row. */
export interface MachineSnapshot {
  readonly value: StateValue;
  readonly context: MachineContext;
}

/** What the machine wants done; the engine turns each into effect rows, timers or cancellations. */
export const INTENTS = [
  'acknowledge',
  'prepare',
  'plan',
  'execute',
  'evaluate',
  'recover',
  'submit',
  'updateStatus',
  'askApproval',
  'report',
  'remember',
  'discard',
  'cancelWork',
  'startRunDeadline',
  'startPauseDeadline',
  'stopDeadlines',
] as const;
export type Intent = (typeof INTENTS)[number];

export interface Advance {
  readonly snapshot: MachineSnapshot;
  readonly state: MachineState;
  readonly intents: readonly Intent[];
  /** False when the machine had no answer to the event in its state. */
  readonly accepted: boolean;
}

export function initialSnapshot(): MachineSnapshot {
  const [state] = initialTransition(repositoryMachine);
  return { value: state.value, context: state.context };
}

/** Name of the top-level state. */
export function stateOf(snapshot: MachineSnapshot): MachineState {
  const name = typeof snapshot.value === 'string' ? snapshot.value : Object.keys(snapshot.value)[0];
  if (!isMachineState(name)) throw new Error(`A stored snapshot is in an unknown state: ${String(name)}.`);
  return name;
}

/** One event: the next snapshot and what is intended. Deterministic. */
export function advance(before: MachineSnapshot, event: TimedEvent): Advance {
  const resolved = repositoryMachine.resolveState({ value: before.value, context: before.context });
  const [after, executable] = transition(repositoryMachine, resolved, event);
  const snapshot = { value: after.value, context: after.context };
  const intents = executable.map((action) => action.type).filter(isIntent);
  return { snapshot, state: stateOf(snapshot), intents, accepted: resolved.can(event) };
}

function isIntent(name: string): name is Intent {
  return INTENTS.some((intent) => intent === name);
}

const STATES: readonly MachineState[] = [
  'listening',
  'planning',
  'executing',
  'evaluating',
  'recovering',
  'submitting',
  'reporting',
  'paused',
];

function isMachineState(name: string | undefined): name is MachineState {
  return STATES.some((state) => state === name);
}
