import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { scriptFromCase } from '../support/scripted-model/case-script.js';
import { caseOf, smallSubject } from '../support/small-subject.js';
import {
  botComments,
  closeStages,
  expectOnePullRequest,
  labelledIssue,
  openStage,
  RUN_MS,
  untilState,
  WAIT_MS,
  waitFor,
} from './support.js';
import { expectTidyEnd, expectTurnsPaidOnce, rowsOf } from './traces.js';

const subject = smallSubject();
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  await closeStages();
  for (const close of closers.splice(0)) await close();
});

/** A place where the engine answers only while it is told to, through the socket of the real one. */
function engineDoor() {
  const directory = mkdtempSync(join(tmpdir(), 'hasten-engine-door-'));
  const path = join(directory, 'docker.sock');
  const sockets = new Set<Socket>();
  let server: Server | null = null;
  const shut = async (): Promise<void> => {
    const closing = server;
    server = null;
    if (closing === null) return;
    const closed = new Promise((resolve) => closing.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  closers.push(async () => {
    await shut();
    rmSync(directory, { recursive: true, force: true });
  });
  const pass = (client: Socket): void => {
    const engine = connect({ path: engineSocket(), allowHalfOpen: true });
    for (const socket of [client, engine]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        engine.destroy();
      });
    }
    client.pipe(engine).pipe(client);
  };
  return {
    host: `unix://${path}`,
    open: () =>
      new Promise<void>((resolve) => {
        server = createServer({ allowHalfOpen: true }, pass).listen(path, resolve);
      }),
    shut,
  };
}

function engineSocket(): string {
  return (process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock').replace(/^unix:\/\//, '');
}

describe('a Docker engine that is away', () => {
  it(
    'is told at start and at /health, and runs wait for it without losing an attempt, before they begin and in their middle',
    async () => {
      const door = engineDoor();
      const stage = await openStage(scriptFromCase(caseOf(subject)), {
        modelDelayMs: 300,
        env: { DOCKER_HOST: door.host },
      });
      const told = stage.log().filter((entry) => /Docker engine/.test(entry.msg));
      expect(told).toHaveLength(1);
      expect(told[0]?.msg).toMatch(
        /^The sandbox is not ready, and runs wait: the Docker engine does not answer/,
      );
      const health = await fetch(`${stage.serviceUrl}/health`);
      expect(health.status).toBe(503);
      expect(await health.json()).toMatchObject({
        status: 'degraded',
        docker: { ok: false, detail: expect.stringContaining('does not answer') },
        github: { ok: true },
      });

      const issue = await labelledIssue(stage);
      const waits = (kind: string) => () =>
        stage.log().some((entry) => entry.msg.startsWith(`${kind} `) && /tried again/.test(entry.msg));
      await waitFor(stage, waits('prepare'), WAIT_MS, 'a run that waits');
      await waitFor(
        stage,
        async () => (await botComments(stage, issue)).length === 1,
        WAIT_MS,
        'the status comment',
      );
      expect(stage.model?.calls()).toEqual([]);

      await door.open();
      const executing = () => stage.model?.calls().some((call) => call.station === 'executing') ?? false;
      await waitFor(stage, executing, WAIT_MS, 'a model turn of executing');
      await door.shut();
      await waitFor(stage, waits('execute'), WAIT_MS, 'a run that waits in its middle');
      await door.open();

      const ended = await untilState(stage, 'listening');
      expect(ended).toMatchObject({ outcome: 'pull-request' });
      await expectOnePullRequest(stage, issue);
      await expectTurnsPaidOnce(stage, 0);
      expect((await fetch(`${stage.serviceUrl}/health`)).status).toBe(200);
      const events = await rowsOf<{ type: string }>(stage.dataDir, 'select type from run_event');
      expect(events.map((event) => event.type)).not.toContain('STATION_FAILED');
      await expectTidyEnd(stage);
    },
    RUN_MS,
  );

  it(
    'and one that takes questions but never answers hold up neither the start nor /health',
    async () => {
      const directory = mkdtempSync(join(tmpdir(), 'hasten-mute-engine-'));
      const path = join(directory, 'docker.sock');
      const sockets = new Set<Socket>();
      const mute = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
      await new Promise<void>((resolve) => mute.listen(path, resolve));
      closers.push(async () => {
        for (const socket of sockets) socket.destroy();
        await new Promise((resolve) => mute.close(resolve));
        rmSync(directory, { recursive: true, force: true });
      });
      const stage = await openStage(scriptFromCase(caseOf(subject)), {
        env: { DOCKER_HOST: `unix://${path}` },
      });
      expect(stage.log().filter((entry) => /does not answer within 5 s/.test(entry.msg))).toHaveLength(1);
      const health = await fetch(`${stage.serviceUrl}/health`);
      expect(health.status).toBe(503);
      expect(await health.json()).toMatchObject({ docker: { ok: false }, github: { ok: true } });
      expect(await stage.service().terminate()).toBe(0);
    },
    RUN_MS,
  );
});
