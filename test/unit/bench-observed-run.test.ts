import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { observeRun, readJournal, secondsByShare } from '../bench/observed-run.js';

const PEERS = { github: 'http://github', model: 'http://model', build: 'make', test: 'npm test' };
const WATCHED = ['/bin/sh', '-c', 'watch', 'sh', '70', 'marker', '/ws/'];

const idOf = (letter: string) => letter.repeat(64);
const create = (id: string, what: string, argv: readonly string[], from: number) => ({
  peer: 'docker',
  method: 'POST',
  path: `/containers/create?name=hasten-0a1b2c3d-run1-${what}-1`,
  request: { Cmd: [...WATCHED, ...argv], Env: ['HOME=/tmp', 'A=1'] },
  answer: JSON.stringify({ Id: idOf(id) }),
  from,
  to: from + 100,
});
const engine = (method: string, path: string, from: number, to: number, more: object = {}) => ({
  peer: 'docker',
  method,
  path,
  from,
  to,
  ...more,
});

/** A build in a container, one observation in an arm, git, and two waits of which one goes on beside the build. */
const JOURNAL = [
  create('a', 'patch', ['sh', '-c', 'make'], 0),
  engine('POST', `/containers/${idOf('a')}/start`, 100, 400),
  engine('POST', `/containers/${idOf('a')}/wait?condition=next-exit`, 90, 1400),
  engine('DELETE', `/containers/${idOf('a')}?force=true`, 1400, 1500),
  { peer: 'http', origin: 'http://github', path: '/repos', from: 1000, to: 1600 },
  { peer: 'git', what: 'ls-tree', from: 1600, to: 1700 },
  { peer: 'http', origin: 'http://model', path: '/v1/chat/completions', from: 1700, to: 2700 },
  create('b', 'base-arm', [], 2700),
  engine('POST', `/containers/${idOf('b')}/start`, 2800, 3000),
  engine('POST', `/containers/${idOf('b')}/exec`, 3000, 3010, {
    request: {},
    answer: JSON.stringify({ Id: idOf('c') }),
  }),
  engine('POST', `/exec/${idOf('c')}/start`, 3010, 3510),
  engine('GET', `/exec/${idOf('c')}/json`, 3510, 3520),
];

async function observed() {
  const folder = await mkdtemp(join(tmpdir(), 'hasten-journal-'));
  try {
    const file = join(folder, 'journal.jsonl');
    await writeFile(file, JOURNAL.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return observeRun(await readJournal(file), PEERS);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('the journal of a run', () => {
  it('gives the commands in their order, with where they ran', async () => {
    const { commands } = await observed();
    expect(commands).toMatchObject([
      { kind: 'build', argv: ['sh', '-c', 'make'], env: ['A=1'], place: 'patch', isPinned: false },
      { kind: 'measure', place: 'base', isPinned: true },
    ]);
  });

  it('divides the time so that waiting is only what nothing else ran beside', async () => {
    expect(secondsByShare({ from: 0, to: 4000 }, await observed())).toEqual({
      install: 0,
      build: 1,
      test: 0,
      measure: 0.5,
      modelTools: 0,
      dependencyPhase: 0,
      workspaces: 0,
      containerStartStop: 0.8,
      observationCare: 0.02,
      gitMirror: 0.1,
      modelWaiting: 1,
      githubWaiting: 0.1,
      service: 0.48,
    });
  });
});
