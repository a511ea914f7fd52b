import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { scriptFromCase } from '../support/scripted-model/case-script.js';
import { caseOf, smallSubject } from '../support/small-subject.js';
import type { Stage } from '../support/stage.js';
import {
  closeStages,
  expectOnePullRequest,
  labelledIssue,
  openStage,
  RUN_MS,
  untilState,
  WAIT_MS,
  waitFor,
} from './support.js';
import { expectTidyEnd, expectTurnsPaidOnce, rowsOf, sandboxLeftovers } from './traces.js';

afterEach(closeStages);
const subject = smallSubject();
const GRACE_SECONDS = 2;
/** For a process on a busy machine to notice and to end. */
const SLACK_MS = 6000;

const calls = (stage: Stage, station: string): number =>
  stage.model?.calls().filter((call) => call.station === station).length ?? 0;

/** SIGTERM; gives the exit code and how long the end took, milliseconds. */
async function stop(stage: Stage): Promise<{ readonly code: number | null; readonly tookMs: number }> {
  const started = Date.now();
  const code = await stage.service().terminate(60_000);
  return { code, tookMs: Date.now() - started };
}

/** A webhook that comes now: its status, 0 when nothing listens any more. */
async function webhookStatus(stage: Stage): Promise<number> {
  const payload = { zen: 'Keep it.', hook_id: 1 };
  return (await stage.github.deliverSigned({ event: 'ping', payload })).status;
}

describe('SIGTERM', () => {
  it(
    'parks a model turn and a measurement within the grace period, takes no new work meanwhile, and the next start ends the run in one pull request',
    async () => {
      const stage = await openStage(scriptFromCase(caseOf(subject)), {
        modelDelayMs: 1800,
        env: { HASTEN_GRACE_SECONDS: String(GRACE_SECONDS) },
      });
      const issue = await labelledIssue(stage);
      await waitFor(stage, () => calls(stage, 'executing') >= 1, WAIT_MS, 'a model turn of executing');
      const [first, during] = await Promise.all([
        stop(stage),
        new Promise((resolve) => setTimeout(resolve, 300)).then(() => webhookStatus(stage)),
      ]);
      expect([503, 0]).toContain(during);
      expect(first.code).toBe(0);
      expect(first.tookMs).toBeLessThan(GRACE_SECONDS * 1000 + SLACK_MS);
      const parked = await rowsOf<{ kind: string; status: string }>(
        stage.dataDir,
        "select kind, status from effect where lane = 'work' and status in ('pending', 'inflight')",
      );
      expect(parked).toEqual([{ kind: 'execute', status: 'pending' }]);
      await stage.restart();

      await untilState(stage, 'evaluating');
      await waitFor(
        stage,
        async () => (await sandboxLeftovers(stage.dataDir)).some((name) => /-arm-\d+$/.test(name)),
        WAIT_MS,
        'arms that measure',
      );
      const second = await stop(stage);
      expect(second.code).toBe(0);
      expect(second.tookMs).toBeLessThan(GRACE_SECONDS * 1000 + SLACK_MS);
      expect((await sandboxLeftovers(stage.dataDir)).filter((name) => /-arm-\d+$/.test(name))).toEqual([]);
      await stage.restart();

      const ended = await untilState(stage, 'listening');
      expect(ended).toMatchObject({ outcome: 'pull-request' });
      await expectOnePullRequest(stage, issue);
      await expectTurnsPaidOnce(stage, 1);
      await expectTidyEnd(stage);
      const crashes = await rowsOf<{ crashes: number }>(
        stage.dataDir,
        'select sum(crashes) as crashes from effect',
      );
      expect(crashes).toEqual([{ crashes: 0 }]);
      expect(stage.log().filter((entry) => entry.level >= 50)).toEqual([]);
    },
    RUN_MS,
  );

  it(
    'ends an idle service at once, and one with a request that never comes whole within the grace period',
    async () => {
      const stage = await openStage(scriptFromCase(caseOf(subject)), { env: { HASTEN_GRACE_SECONDS: '30' } });
      const idle = await stop(stage);
      expect(idle.code).toBe(0);
      expect(idle.tookMs).toBeLessThan(SLACK_MS);

      await stage.restart({ HASTEN_GRACE_SECONDS: String(GRACE_SECONDS) });
      const { hostname, port } = new URL(stage.serviceUrl);
      const slow = connect({ host: hostname, port: Number(port) });
      slow.on('error', () => undefined);
      slow.write('POST /api/github/webhooks HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"half": ');
      await new Promise((resolve) => setTimeout(resolve, 300));
      const busy = await stop(stage);
      slow.destroy();
      expect(busy.code).toBe(0);
      expect(busy.tookMs).toBeLessThan(GRACE_SECONDS * 1000 + SLACK_MS);
    },
    RUN_MS,
  );
});
