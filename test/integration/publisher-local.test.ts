import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BugError } from '../../src/domain/errors.js';
import type { RepositoryRef, SourceMirror } from '../../src/domain/repository.js';
import type { RunRecord } from '../../src/domain/run.js';
import { createLocalPublisher } from '../../src/publisher/local-publisher.js';
import { createGitMirror } from '../../src/sandbox/git-mirror.js';
import { samplePassedRun, sha256 } from '../support/passed-run-sample.js';
import { BASE_FILES, patchText } from '../support/publisher-world.js';
import { sampleTrigger } from '../support/run-samples.js';

let folder: string;
let repository: RepositoryRef;
let mirror: SourceMirror;
let run: RunRecord;

function git(...args: string[]): string {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.test'];
  return execFileSync('git', ['-C', repository.cloneUrl, ...identity, ...args], { encoding: 'utf8' }).trim();
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hasten-local-'));
  const cloneUrl = join(folder, 'repository');
  mkdirSync(cloneUrl);
  repository = {
    id: 'local-1',
    owner: 'folder',
    name: 'repository',
    installationId: null,
    defaultBranch: 'main',
    cloneUrl,
  };
  git('init', '--quiet', '--initial-branch=main');
  for (const [path, content] of Object.entries(BASE_FILES)) {
    mkdirSync(dirname(join(cloneUrl, path)), { recursive: true });
    writeFileSync(join(cloneUrl, path), content);
  }
  git('add', '-A');
  git('commit', '--quiet', '-m', 'base');
  mirror = createGitMirror({ dataDir: join(folder, 'data'), credentials: { tokenFor: async () => null } });
  const baseCommit = git('rev-parse', 'HEAD');
  const diff = patchText(BASE_FILES);
  await mirror.fetch(repository, baseCommit, new AbortController().signal);
  const { tree } = await mirror.applyPatch(repository, baseCommit, diff);
  const sample = samplePassedRun();
  if (sample.patch === null || sample.evaluation === null) throw new Error('the sample has passed');
  run = {
    ...sample,
    issueNumber: null,
    trigger: sampleTrigger({ repository, issueNumber: null, source: 'local', baseCommit }),
    patch: { ...sample.patch, baseCommit, tree, diff, digest: sha256(diff) },
    evaluation: { ...sample.evaluation, baseCommit, tree, patchDigest: sha256(diff) },
  };
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function publisher() {
  const reports: string[] = [];
  const questions: string[] = [];
  const stations = createLocalPublisher({
    mirror,
    money: { spentByRun: async () => 0 },
    onReport: (markdown) => reports.push(markdown),
    onQuestion: (lines) => questions.push(...lines),
  });
  return { stations, reports, questions };
}

const context = { signal: new AbortController().signal, now: Date.now, progress: () => undefined };

function effect<K extends string>(kind: K, of: RunRecord = run) {
  return {
    key: `${of.id}:1:0:${kind}`,
    kind,
    repository,
    payload: { run: of, state: 'submitting' as const },
    createdAt: 1_790_000_000_000,
    attempt: 1,
  };
}

describe('local use', () => {
  it('leaves a branch with exactly the evaluated tree, the same one when tried again', async () => {
    const { stations } = publisher();
    const first = await stations.submit(effect('submit'), context);
    expect(await stations.submit(effect('submit'), context)).toEqual(first);
    const branch = `hasten/${run.id}`;
    expect(first).toEqual({
      type: 'PULL_REQUEST_OPENED',
      submission: { branch, commit: git('rev-parse', branch), pullNumber: null, url: null, draft: false },
    });
    expect(git('rev-parse', `${branch}^{tree}`)).toBe(run.patch?.tree);
    expect(git('rev-parse', `${branch}^`)).toBe(run.trigger.baseCommit);
    expect(git('log', '-1', '--format=%(trailers:key=Hasten-Run,valueonly)', branch)).toBe(run.id);
    expect(git('rev-parse', 'HEAD')).toBe(run.trigger.baseCommit);
  });

  it('writes no branch when the evaluation is of another patch', async () => {
    const { evaluation } = run;
    if (evaluation === null) throw new Error('sample');
    const other = { ...run, evaluation: { ...evaluation, patchDigest: '0'.repeat(64) } };
    await expect(publisher().stations.submit(effect('submit', other), context)).rejects.toBeInstanceOf(
      BugError,
    );
    expect(git('branch', '--list', 'hasten/*')).toBe('');
  });

  it('gives a report and prints questions', async () => {
    const { stations, reports, questions } = publisher();
    expect(await stations.acknowledge(effect('acknowledge'), context)).toEqual({
      type: 'ACKNOWLEDGED',
      issueNumber: null,
    });
    const pause = {
      reason: 'budget' as const,
      from: 'executing' as const,
      since: 0,
      expiresAt: 0,
      detail: 'No room.',
      rev: 1,
    };
    await stations['ask-approval'](effect('ask-approval', { ...run, pause }), context);
    expect(questions[0]).toContain('used up its budget');
    expect(questions).toContain('No room.');
    const ended: RunRecord = { ...run, outcome: 'nothing-to-gain', outcomeReason: 'The profile is flat.' };
    expect(await stations.report(effect('report', ended), context)).toEqual({ type: 'REPORTED' });
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain('The profile is flat.');
  });
});
