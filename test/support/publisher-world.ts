/** An emulated GitHub with a repository, an issue and a passed run on it, and the publisher's real stations. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pino from 'pino';
import type { EffectPayloads, Station, StationContext } from '../../src/domain/effect.js';
import type { MachineEvent } from '../../src/domain/event.js';
import type { RepositoryRef, SourceMirror } from '../../src/domain/repository.js';
import type { RunRecord } from '../../src/domain/run.js';
import { createGithubAccess } from '../../src/ingress/github-access.js';
import {
  createGithubPublisher,
  type PublisherKind,
  type PublisherStations,
} from '../../src/publisher/github-publisher.js';
import { createGithubClients } from '../../src/publisher/octokit-clients.js';
import { createGitMirror } from '../../src/sandbox/git-mirror.js';
import type { EmulatedGitHub } from './emulated-github/emulated-github.js';
import { asObject } from './emulated-github/json.js';
import { samplePassedRun, sha256 } from './passed-run-sample.js';
import { sampleTrigger } from './run-samples.js';

export const BASE_FILES: Readonly<Record<string, string>> = {
  'index.js': 'export const sum = (a) => a.reduce((x, y) => x + y, 0);\n',
  'old.js': 'export const unused = 1;\n',
  'lib/keep.js': 'export const keep = 1;\n',
};
/** Text, an executable in a new folder, bytes that are not UTF-8, and a file that goes away. */
export const PATCHED_FILES: Readonly<Record<string, string | Buffer | null>> = {
  'index.js': 'export const sum = (a) => { let s = 0; for (const x of a) s += x; return s; };\n',
  'old.js': null,
  'tools/run.sh': '#!/bin/sh\necho ok\n',
  'lib/table.bin': Buffer.from([0, 255, 254, 10, 128]),
};

/** `git diff --binary` from the base files to the patched ones, made by git itself. */
export function patchText(base: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'hasten-diff-'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@example.test', ...args], {
      encoding: 'utf8',
      maxBuffer: 2 ** 24,
    });
  try {
    git('init', '--quiet');
    for (const [path, content] of Object.entries(base)) put(folder, path, content);
    git('add', '-A');
    git('commit', '--quiet', '-m', 'base');
    for (const [path, content] of Object.entries(PATCHED_FILES)) {
      if (content === null) rmSync(join(folder, path));
      else put(folder, path, content);
    }
    git('add', '-A');
    git('update-index', '--chmod=+x', 'tools/run.sh');
    return git('diff', '--binary', '--no-renames', '--cached', 'HEAD');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function put(folder: string, path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

export interface PublisherWorld {
  readonly fullName: string;
  readonly repository: RepositoryRef;
  readonly issue: number;
  readonly baseCommit: string;
  readonly stations: PublisherStations;
  readonly mirror: SourceMirror;
  /** A passed run with a real patch on the base commit. */
  readonly run: RunRecord;
  /** Lines that the stations said. */
  readonly said: string[];
  /** Performs one effect as the engine would; the same key again is a retry. */
  perform<K extends PublisherKind>(
    kind: K,
    payload: EffectPayloads[K],
    key?: string,
  ): Promise<MachineEvent | null>;
}

let counter = 0;

/** Makes a repository of its own in the emulated GitHub and everything around it; `folder` holds the bare mirror. */
export async function publisherWorld(
  github: EmulatedGitHub,
  folder: string,
  options: { readonly pace?: { pullsPerHour: number; pullsOpen: number }; readonly now?: () => number } = {},
): Promise<PublisherWorld> {
  counter += 1;
  const name = `library-${counter}`;
  const fullName = `acme/${name}`;
  const baseCommit = await github.createRepository({ owner: 'acme', name, files: BASE_FILES });
  const issue = await github.people.openIssue('writer', fullName, {
    title: 'Summing is slow',
    body: 'Very.',
  });
  const repository: RepositoryRef = {
    id: String(asObject(await github.read(`/repos/${fullName}`)).id),
    owner: 'acme',
    name,
    installationId: github.app.installationId,
    defaultBranch: 'main',
    cloneUrl: github.cloneUrl(fullName),
  };
  const now = options.now ?? Date.now;
  const access = createGithubAccess({
    app: { id: github.app.appId, privateKey: github.app.privateKey, webhookSecret: github.app.webhookSecret },
    github: { webUrl: github.url, apiUrl: `${github.url}/api/v3` },
    log: pino({ level: 'silent' }),
  });
  const mirror = createGitMirror({ dataDir: folder, credentials: access });
  const stations = createGithubPublisher({
    clients: createGithubClients({ tokens: access, apiUrl: `${github.url}/api/v3`, writePauseMs: 0 }),
    mirror,
    money: { spentByRun: async () => 0.42 },
    pace: options.pace ?? { pullsPerHour: 2, pullsOpen: 10 },
  });
  const run = await passedRun({ mirror, repository, issue, baseCommit });
  const said: string[] = [];
  const context: StationContext = {
    signal: new AbortController().signal,
    now,
    progress: (line) => said.push(line),
  };
  return {
    fullName,
    repository,
    issue,
    baseCommit,
    stations,
    mirror,
    run,
    said,
    perform<K extends PublisherKind>(kind: K, payload: EffectPayloads[K], key = `${run.id}:7:0:${kind}`) {
      const all: { readonly [Kind in PublisherKind]: Station<Kind> } = stations;
      const station: Station<K> = all[kind];
      return station({ key, kind, repository, payload, createdAt: now(), attempt: 1 }, context);
    },
  };
}

async function passedRun(facts: {
  readonly mirror: SourceMirror;
  readonly repository: RepositoryRef;
  readonly issue: number;
  readonly baseCommit: string;
}): Promise<RunRecord> {
  const { mirror, repository, issue, baseCommit } = facts;
  const diff = patchText(BASE_FILES);
  await mirror.fetch(repository, baseCommit, new AbortController().signal);
  const { tree } = await mirror.applyPatch(repository, baseCommit, diff);
  const sample = samplePassedRun();
  if (sample.patch === null || sample.evaluation === null) throw new Error('the sample has passed');
  const digest = sha256(diff);
  return {
    ...sample,
    id: `run${String(counter).padStart(9, '0')}`,
    issueNumber: issue,
    startedAt: Date.now(),
    trigger: sampleTrigger({ repository, issueNumber: issue, baseCommit, collapseKey: `issue:${issue}` }),
    patch: { ...sample.patch, baseCommit, tree, diff, digest },
    evaluation: { ...sample.evaluation, baseCommit, tree, patchDigest: digest },
  };
}
