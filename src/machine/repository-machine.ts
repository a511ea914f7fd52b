/** The statechart of one repository: pure, restored and advanced by the engine one event at a time. */
import { and, assign, setup } from 'xstate';
import type { TimedEvent } from '../domain/event.js';
import type { Pause } from '../domain/run.js';
import type { MachineContext } from './guards.js';
import * as guards from './guards.js';
import * as actions from './run-actions.js';

/** Grows with every change that a stored snapshot must be migrated for. */
export const MACHINE_VERSION = 1;

/** An action that the engine turns into an effect, a timer or a cancellation; it runs nothing itself. */
const intend = (): void => undefined;

const machineSetup = setup({
  types: { context: {} as MachineContext, events: {} as TimedEvent },
  guards: {
    isCycle: guards.isCycle,
    areAttemptsUsedUp: guards.areAttemptsUsedUp,
    isPlanMissing: guards.isPlanMissing,
    isPrepared: guards.isPrepared,
    isApprovalNeeded: guards.isApprovalNeeded,
    isEvaluationOfThisPatch: guards.isEvaluationOfThisPatch,
    isHopeless: guards.isHopeless,
    isForThisPause: guards.isForThisPause,
    isPauseDeadline: guards.isPauseDeadline,
    isRunDeadline: guards.isRunDeadline,
    isPausedFrom: ({ context }, params: { readonly from: Pause['from'] }) =>
      context.run?.pause?.from === params.from,
  },
  actions: {
    begin: assign(actions.begin),
    forget: assign(actions.forget),
    keep: assign(actions.keep),
    countFailure: assign(actions.countFailure),
    approve: assign(actions.approve),
    giveUp: assign(actions.giveUp),
    openPause: assign(actions.openPause),
    end: assign(actions.end),
    acknowledge: intend,
    prepare: intend,
    plan: intend,
    execute: intend,
    evaluate: intend,
    recover: intend,
    submit: intend,
    updateStatus: intend,
    askApproval: intend,
    report: intend,
    remember: intend,
    discard: intend,
    cancelWork: intend,
    startRunDeadline: intend,
    startPauseDeadline: intend,
    stopDeadlines: intend,
  },
});

const pauseFrom = <F extends Pause['from']>(from: F) =>
  ({ target: '#repository.paused', actions: { type: 'openPause', params: { from } } }) as const;
const endAs = <O extends 'failed' | 'nothing-to-gain' | 'rejected' | 'expired' | 'cancelled'>(outcome: O) =>
  ({ target: '#repository.reporting', actions: { type: 'end', params: { outcome } } }) as const;

/** Outcomes that interrupt work; the effect that runs is told to stop. */
const cancelled = {
  target: '#repository.reporting',
  actions: [{ type: 'end', params: { outcome: 'cancelled' } }, 'cancelWork'],
} as const;
const overdue = {
  guard: 'isRunDeadline',
  target: '#repository.reporting',
  actions: [{ type: 'end', params: { outcome: 'failed' } }, 'cancelWork'],
} as const;
const hopeless = { guard: 'isHopeless', ...endAs('failed') } as const;
const failed = { target: '#repository.recovering', actions: 'countFailure', reenter: true } as const;

export const repositoryMachine = machineSetup.createMachine({
  id: 'repository',
  initial: 'listening',
  context: { run: null },
  on: { ACKNOWLEDGED: { actions: 'keep' } },
  states: {
    listening: {
      entry: 'forget',
      on: { RUN_REQUESTED: { target: 'planning', actions: ['begin', 'acknowledge', 'startRunDeadline'] } },
    },
    planning: {
      initial: 'deciding',
      states: {
        deciding: { always: [{ guard: 'isPrepared', target: 'thinking' }, { target: 'preparing' }] },
        preparing: { entry: 'prepare', on: { PREPARED: { target: 'thinking', actions: 'keep' } } },
        thinking: { entry: ['plan', 'updateStatus'] },
      },
      on: {
        PLAN_READY: { target: 'executing', actions: 'keep' },
        NOTHING_TO_GAIN: endAs('nothing-to-gain'),
        STATION_FAILED: [hopeless, failed],
        BUDGET_EXHAUSTED: pauseFrom('planning'),
        CANCELLED: cancelled,
        DEADLINE_PASSED: overdue,
      },
    },
    executing: {
      entry: ['execute', 'updateStatus'],
      on: {
        PATCH_READY: { target: 'evaluating', actions: 'keep' },
        STATION_FAILED: [hopeless, failed],
        BUDGET_EXHAUSTED: pauseFrom('executing'),
        CANCELLED: cancelled,
        DEADLINE_PASSED: overdue,
      },
    },
    evaluating: {
      entry: ['evaluate', 'updateStatus'],
      on: {
        EVALUATION_PASSED: [
          {
            guard: and(['isEvaluationOfThisPatch', 'isApprovalNeeded']),
            target: 'paused',
            actions: ['keep', { type: 'openPause', params: { from: 'submitting' } }],
          },
          { guard: 'isEvaluationOfThisPatch', target: 'submitting', actions: 'keep' },
          endAs('failed'),
        ],
        EVALUATION_FAILED: failed,
        STATION_FAILED: [hopeless, failed],
        CANCELLED: cancelled,
        DEADLINE_PASSED: overdue,
      },
    },
    recovering: {
      initial: 'deciding',
      states: {
        deciding: {
          always: [
            { guard: 'isCycle', ...pauseFrom('recovering') },
            { guard: 'areAttemptsUsedUp', target: '#repository.reporting', actions: 'giveUp' },
            { guard: 'isPlanMissing', target: '#repository.planning' },
            { target: 'thinking' },
          ],
        },
        thinking: { entry: ['recover', 'updateStatus'] },
      },
      on: {
        PLAN_UPDATED: { target: 'executing', actions: 'keep' },
        NO_FURTHER_IDEA: endAs('failed'),
        STATION_FAILED: [hopeless, failed],
        BUDGET_EXHAUSTED: pauseFrom('recovering'),
        CANCELLED: cancelled,
        DEADLINE_PASSED: overdue,
      },
    },
    submitting: {
      entry: ['submit', 'updateStatus'],
      on: {
        PULL_REQUEST_OPENED: {
          target: 'reporting',
          actions: ['keep', { type: 'end', params: { outcome: 'pull-request' } }],
        },
        STATION_FAILED: endAs('failed'),
        // The engine sends these two only while the push waits, never while it is under way.
        CANCELLED: cancelled,
        DEADLINE_PASSED: overdue,
      },
    },
    reporting: {
      entry: ['stopDeadlines', 'report', 'remember', 'discard'],
      on: { REPORTED: { target: 'listening' }, STATION_FAILED: { target: 'listening' } },
    },
    paused: {
      entry: ['stopDeadlines', 'askApproval', 'updateStatus', 'startPauseDeadline'],
      on: {
        APPROVED: (['planning', 'executing', 'recovering', 'submitting'] as const).map((from) => ({
          guard: and(['isForThisPause', { type: 'isPausedFrom', params: { from } }]),
          target: from,
          actions: ['approve', 'stopDeadlines', 'startRunDeadline'] as const,
        })),
        REJECTED: endAs('rejected'),
        CANCELLED: cancelled,
        DEADLINE_PASSED: { guard: 'isPauseDeadline', ...endAs('expired') },
      },
    },
  },
});
