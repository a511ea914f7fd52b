import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MachineEvent } from '../../src/domain/event.js';
import { advance, initialSnapshot, type MachineSnapshot, stateOf } from '../../src/machine/advance.js';
import {
  SAMPLE_BENCHMARK,
  SAMPLE_PATCH,
  SAMPLE_PLAN,
  sampleFailed,
  samplePassed,
  sampleSettings,
  sampleTrigger,
} from '../support/run-samples.js';

const REQUESTED: MachineEvent = { type: 'RUN_REQUESTED', run: 'aaaaaaaaaaaa', trigger: sampleTrigger() };
const PREPARED: MachineEvent = { type: 'PREPARED', settings: sampleSettings() };
const PLANNED: MachineEvent = {
  type: 'PLAN_READY',
  plan: SAMPLE_PLAN,
  benchmark: SAMPLE_BENCHMARK,
  profile: [],
};
const PATCHED: MachineEvent = { type: 'PATCH_READY', patch: SAMPLE_PATCH };
const PASSED: MachineEvent = { type: 'EVALUATION_PASSED', evaluation: samplePassed() };
const FAILED: MachineEvent = { type: 'EVALUATION_FAILED', failure: sampleFailed() };
const UPDATED: MachineEvent = { type: 'PLAN_UPDATED', plan: SAMPLE_PLAN };
const OPENED: MachineEvent = {
  type: 'PULL_REQUEST_OPENED',
  submission: {
    branch: 'hasten/aaaaaaaaaaaa',
    commit: 'f'.repeat(40),
    pullNumber: 13,
    url: 'u',
    draft: false,
  },
};

function play(events: readonly MachineEvent[], from: MachineSnapshot = initialSnapshot()) {
  let snapshot = from;
  let rev = 0;
  const intents: string[] = [];
  for (const event of events) {
    rev += 1;
    const next = advance(JSON.parse(JSON.stringify(snapshot)), { ...event, at: rev * 1000, rev });
    snapshot = next.snapshot;
    intents.push(...next.intents);
  }
  return { snapshot, state: stateOf(snapshot), run: snapshot.context.run, intents, rev };
}

describe('the machine of one repository', () => {
  it('goes from a request to a pull request and back to listening', () => {
    const { state, intents } = play([
      REQUESTED,
      PREPARED,
      PLANNED,
      PATCHED,
      PASSED,
      OPENED,
      { type: 'REPORTED' },
    ]);
    expect(state).toBe('listening');
    expect(intents.filter((intent) => intent !== 'updateStatus')).toEqual([
      'acknowledge',
      'startRunDeadline',
      'prepare',
      'plan',
      'execute',
      'evaluate',
      'submit',
      'stopDeadlines',
      'report',
      'remember',
      'discard',
    ]);
  });

  it('never submits an evaluation of another tree, digest, commit, benchmark or verdict', () => {
    const foreign = [
      samplePassed({ tree: '0'.repeat(40) }),
      samplePassed({ patchDigest: '0'.repeat(64) }),
      samplePassed({ baseCommit: '0'.repeat(40) }),
      samplePassed({ benchmarkSha256: '0'.repeat(64) }),
      samplePassed({ measurement: { ...samplePassed().measurement, verdict: 'inconclusive' } }),
      samplePassed({ heldBack: samplePassed().measurement }),
    ];
    for (const evaluation of foreign) {
      const { state, run } = play([
        REQUESTED,
        PREPARED,
        PLANNED,
        PATCHED,
        { type: 'EVALUATION_PASSED', evaluation },
      ]);
      expect(state).toBe('reporting');
      expect(run?.outcome).toBe('failed');
    }
  });

  it('submits a patch whose planning held a workload back only when that is faster too', () => {
    const heldBack = { path: '.hasten/held-back.mjs', source: 's', sha256: '5'.repeat(64) };
    const planned: MachineEvent = { ...PLANNED, benchmark: { ...SAMPLE_BENCHMARK, heldBack } };
    const { measurement } = samplePassed();
    const outcomes = [null, { ...measurement, verdict: 'no-change' as const }, measurement].map(
      (measured) => {
        const evaluation = samplePassed({ heldBack: measured });
        return play([REQUESTED, PREPARED, planned, PATCHED, { type: 'EVALUATION_PASSED', evaluation }]).state;
      },
    );
    expect(outcomes).toEqual(['reporting', 'reporting', 'submitting']);
  });

  it('submits only out of a passed evaluation of the patch it holds, whatever events come in whatever order', () => {
    const pool: readonly MachineEvent[] = [
      REQUESTED,
      PREPARED,
      PLANNED,
      PATCHED,
      { type: 'PATCH_READY', patch: { ...SAMPLE_PATCH, tree: '1'.repeat(40), digest: '2'.repeat(64) } },
      PASSED,
      FAILED,
      UPDATED,
      OPENED,
      { type: 'REPORTED' },
      { type: 'NO_FURTHER_IDEA', reason: 'none' },
      { type: 'CANCELLED', by: 'maintainer' },
      { type: 'DEADLINE_PASSED', name: 'run' },
      { type: 'DEADLINE_PASSED', name: 'pause' },
      { type: 'BUDGET_EXHAUSTED', limit: 'run', limitUsd: 5, usedUsd: 5 },
      { type: 'APPROVED', by: 'maintainer', hint: null, pauseRev: 6 },
      {
        type: 'STATION_FAILED',
        station: 'execute',
        error: { code: 'X', fault: 'peer', retryable: false, message: 'down' },
      },
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pool), { maxLength: 40 }), (events) => {
        let snapshot = initialSnapshot();
        for (const [index, event] of events.entries()) {
          const before = stateOf(snapshot);
          const next = advance(snapshot, { ...event, at: index, rev: index + 1 });
          if (next.state === 'submitting' && before !== 'submitting') {
            const run = next.snapshot.context.run;
            expect(['evaluating', 'paused']).toContain(before);
            expect(run?.evaluation?.tree).toBe(run?.patch?.tree);
            expect(run?.evaluation?.patchDigest).toBe(run?.patch?.digest);
            expect(run?.evaluation?.measurement.verdict).toBe('faster');
          }
          snapshot = next.snapshot;
        }
      }),
      { numRuns: 600 },
    );
  });

  it('recovers with the failure as evidence and gives up when the attempts are used up', () => {
    const fail = (summary: string): MachineEvent => ({
      type: 'EVALUATION_FAILED',
      failure: sampleFailed({ summary }),
    });
    const second = play([REQUESTED, PREPARED, PLANNED, PATCHED, fail('a breaks')]);
    expect(second.state).toBe('recovering');
    expect(second.run?.attempts[0]).toMatchObject({
      number: 1,
      evidence: 'not ok 1 - sorts',
      diff: SAMPLE_PATCH.diff,
    });
    const third = play(
      [UPDATED, PATCHED, fail('b breaks'), UPDATED, PATCHED, fail('c breaks')],
      second.snapshot,
    );
    expect(third.state).toBe('reporting');
    expect(third.run?.outcomeReason).toContain('All 3 attempts failed');
  });

  it('pauses with cycle at the third equal plan and error, and goes on for one more attempt when approved', () => {
    const round = [PATCHED, FAILED];
    const paused = play([REQUESTED, PREPARED, PLANNED, ...round, UPDATED, ...round, UPDATED, ...round]);
    expect(paused.state).toBe('paused');
    expect(paused.run?.pause?.reason).toBe('cycle');
    const rev = paused.run?.pause?.rev ?? -1;
    expect(rev).toBe(paused.rev);
    const approved = play(
      [{ type: 'APPROVED', by: 'm', hint: 'look at compare()', pauseRev: rev }],
      paused.snapshot,
    );
    expect(approved.state).toBe('recovering');
    expect(approved.run?.hints).toEqual(['look at compare()']);
    expect(approved.intents).toContain('recover');
    expect(play([UPDATED, ...round], approved.snapshot).state).toBe('reporting');
  });

  it('does not call it a cycle when a peer is down each time, and gives up after the attempts', () => {
    const down: MachineEvent = {
      type: 'STATION_FAILED',
      station: 'plan',
      error: { code: 'MODEL_DOWN', fault: 'peer', retryable: true, message: 'The endpoint does not answer.' },
    };
    const { state, run } = play([REQUESTED, PREPARED, down, down, down]);
    expect(state).toBe('reporting');
    expect(run?.outcomeReason).toContain('All 3 attempts failed');
  });

  it('ignores an approval of another revision', () => {
    const paused = play([
      REQUESTED,
      PREPARED,
      { type: 'BUDGET_EXHAUSTED', limit: 'run', limitUsd: 5, usedUsd: 4.9 },
    ]);
    expect(paused.state).toBe('paused');
    const stale: MachineEvent = { type: 'APPROVED', by: 'm', hint: null, pauseRev: paused.rev - 1 };
    expect(play([stale], paused.snapshot).state).toBe('paused');
    const right: MachineEvent = { type: 'APPROVED', by: 'm', hint: null, pauseRev: paused.rev };
    expect(play([right], paused.snapshot).state).toBe('planning');
  });

  it('asks before the push when text of an outsider reached the model, and pushes after the approval', () => {
    const outside: MachineEvent = {
      type: 'RUN_REQUESTED',
      run: 'aaaaaaaaaaaa',
      trigger: sampleTrigger({ outsideText: true }),
    };
    const paused = play([outside, PREPARED, PLANNED, PATCHED, PASSED]);
    expect(paused.state).toBe('paused');
    expect(paused.run?.pause?.reason).toBe('approval');
    const approved: MachineEvent = { type: 'APPROVED', by: 'm', hint: null, pauseRev: paused.rev };
    expect(play([approved], paused.snapshot)).toMatchObject({
      state: 'submitting',
      run: { approvedBy: 'm' },
    });
    expect(play([{ type: 'REJECTED', by: 'm', reason: 'too risky' }], paused.snapshot)).toMatchObject({
      state: 'reporting',
      run: { outcome: 'rejected', outcomeReason: 'Rejected by m: too risky' },
    });
    expect(play([{ type: 'DEADLINE_PASSED', name: 'pause' }], paused.snapshot).run?.outcome).toBe('expired');
  });

  it('follows the fixed approval modes', () => {
    const with_ = (approval: 'before-push' | 'draft' | 'none'): MachineEvent => ({
      type: 'PREPARED',
      settings: sampleSettings({ approval }),
    });
    expect(play([REQUESTED, with_('before-push'), PLANNED, PATCHED, PASSED]).state).toBe('paused');
    expect(play([REQUESTED, with_('draft'), PLANNED, PATCHED, PASSED]).state).toBe('submitting');
    expect(play([REQUESTED, with_('none'), PLANNED, PATCHED, PASSED]).state).toBe('submitting');
  });

  it('ends at once when settings or an invariant are wrong, and plans again after a failing peer', () => {
    const failure = (station: string, fault: 'user' | 'peer' | 'bug'): MachineEvent => ({
      type: 'STATION_FAILED',
      station,
      error: { code: 'X', fault, retryable: false, message: `wrong in ${station}` },
    });
    expect(play([REQUESTED, failure('prepare', 'user')])).toMatchObject({
      state: 'reporting',
      run: { outcome: 'failed', outcomeReason: 'wrong in prepare' },
    });
    const again = play([REQUESTED, PREPARED, failure('plan', 'peer')]);
    expect(again.state).toBe('planning');
    expect(again.intents.filter((intent) => intent === 'plan')).toHaveLength(2);
    expect(play([REQUESTED, PREPARED, PLANNED, PATCHED, failure('evaluate', 'bug')]).state).toBe('reporting');
  });

  it('emits nothing but known intents and assignments', () => {
    const { snapshot } = play([REQUESTED]);
    expect(JSON.parse(JSON.stringify(snapshot))).toEqual(snapshot);
  });
});
