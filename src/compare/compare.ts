/** `hasten compare`: takes two subjects to workspaces in Docker, or on this machine itself, and measures them against each other. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ceilingsOf } from '../config/repository-ceilings.js';
import type { ServiceSettings } from '../config/service-settings.js';
import { UserError } from '../domain/errors.js';
import type { Measurement } from '../domain/evaluation.js';
import { benchmarkName } from '../domain/plan.js';
import type { SourceMirror } from '../domain/repository.js';
import type { Sandbox } from '../domain/sandbox.js';
import type { RepositorySettings } from '../domain/settings.js';
import { SANDBOX_WORKSPACE } from '../evaluator/harness-protocol.js';
import { installationId, SANDBOX_IMAGE } from '../installation.js';
import { createDockerSandbox } from '../sandbox/docker-sandbox.js';
import { createGitMirror } from '../sandbox/git-mirror.js';
import { createHostSandbox } from '../sandbox/host-sandbox.js';
import { readRegistryUrl } from '../sandbox/registry-url.js';
import { chooseBenchmark, OVERLAY_DIRECTORY, type Side } from './benchmark-choice.js';
import type { CompareArguments } from './compare-arguments.js';
import type { Subject } from './compared-subject.js';
import { type ComparedWorkspaces, layOut } from './compared-workspaces.js';
import type { Comparison } from './comparison.js';
import { measureSides } from './measure-sides.js';
import { settingsOf } from './side-settings.js';
import { resolveSubject } from './subject.js';

export interface CompareRequest {
  readonly asked: CompareArguments;
  readonly settings: Pick<ServiceSettings, 'dataDir' | 'sandbox' | 'npmRegistry' | 'attempts' | 'money'>;
  /** Folder that relative paths start from, absolute. */
  readonly cwd: string;
  /** What is being done, one short line. */
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Leaves nothing behind but caches of the engine (trees and installed dependencies). Throws UserError for what the
 * caller has to change, StepFailed where the benchmark or a build fails, PeerError when Docker, git or npm fail.
 */
export async function compare(request: CompareRequest): Promise<Comparison> {
  const temporary = await realpath(await mkdtemp(join(tmpdir(), 'hasten-compare-')));
  const run = `compare-${randomUUID().slice(0, 12)}`;
  let sandbox: Sandbox | null = null;
  try {
    const [base, head] = await subjectsOf(request, temporary);
    const mirror = createGitMirror({ dataDir: temporary, credentials: { tokenFor: async () => null } });
    sandbox = await openSandbox(request, mirror, temporary);
    const environment = await environmentOf(sandbox);
    const sides = {
      base: await sideOf(request, mirror, base),
      head: await sideOf(request, mirror, head),
    };
    const chosen = await chooseBenchmark(request.asked, sides, mirror, request.cwd);
    const { progress, signal, asked } = request;
    const workspaceRoot = asked.host ? null : SANDBOX_WORKSPACE;
    const laid = await layOut({ run, sandbox, workspaceRoot, ...sides, benchmark: chosen, progress, signal });
    const seed = asked.seed ?? randomUUID().slice(0, 8);
    const measured = await measureSides({
      ...laid,
      sandbox,
      settings: measuringSettings(asked, sides.base.settings),
      seed,
      confirm: asked.confirm,
      allowDifferentOutput: asked.allowDifferentOutput,
      environment,
      progress,
      signal,
    });
    const place = asked.host ? 'host' : 'sandbox';
    return { ...measured, ...describe(base, head, laid, asked), place, seed };
  } finally {
    await sandbox?.discard(run);
    await rm(temporary, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function subjectsOf(
  { asked, cwd, settings, progress, signal }: CompareRequest,
  temporary: string,
): Promise<readonly [Subject, Subject]> {
  progress(`looking up ${asked.base} and ${asked.head}`);
  const places = { cwd, repo: asked.repo, temporary, registryUrl: settings.npmRegistry, signal };
  return [await resolveSubject(asked.base, places), await resolveSubject(asked.head, places)];
}

async function openSandbox(
  { asked, settings }: CompareRequest,
  mirror: SourceMirror,
  temporary: string,
): Promise<Sandbox> {
  if (asked.host) {
    return createHostSandbox({ directory: join(temporary, 'host'), mirror });
  }
  return createDockerSandbox({
    docker: {},
    imageTag: settings.sandbox.image ?? SANDBOX_IMAGE,
    runtime: settings.sandbox.runtime,
    // The same as that of `hasten run`, so that both find each other's installed dependencies.
    owner: `${installationId(settings.dataDir)}-local`,
    dataDir: settings.dataDir,
    mirror,
    registryUrl: settings.npmRegistry ?? (await readRegistryUrl(process.env)),
    now: Date.now,
    log: () => undefined,
  });
}

async function environmentOf(sandbox: Sandbox): Promise<Omit<Measurement['environment'], 'load' | 'node'>> {
  const { ok, detail, runtime, imageId } = await sandbox.check();
  if (!ok) throw new UserError({ code: 'SANDBOX_NOT_READY', message: detail });
  return { runtime, imageId: imageId ?? 'none', cpuset: sandbox.measurementCpuset() };
}

async function sideOf(
  { settings, signal }: CompareRequest,
  mirror: SourceMirror,
  subject: Subject,
): Promise<Side> {
  await mirror.fetch(subject.repository, subject.commit, signal);
  return { subject, settings: await settingsOf(subject, mirror, ceilingsOf(settings)) };
}

/** Base's settings, as far as the command line says nothing else. */
function measuringSettings(asked: CompareArguments, base: RepositorySettings): RepositorySettings {
  const { minimumEffect, timeoutMs } = asked;
  return {
    ...base,
    minimumEffect: minimumEffect ?? base.minimumEffect,
    timeouts: { ...base.timeouts, measureMs: timeoutMs ?? base.timeouts.measureMs },
  };
}

function describe(
  base: Subject,
  head: Subject,
  { benchmark, shownEntry: entry }: Pick<ComparedWorkspaces, 'benchmark' | 'shownEntry'>,
  { measured }: CompareArguments,
): Pick<Comparison, 'base' | 'head' | 'benchmark'> {
  const shown = ({ given, identity }: Subject) => ({ given, identity });
  const { kind } = benchmark;
  const isLaidOver = kind === 'module' && benchmark.path.startsWith(`${OVERLAY_DIRECTORY}/`);
  const name = isLaidOver && measured.kind === 'bench' ? basename(measured.file) : benchmarkName(benchmark);
  return { base: shown(base), head: shown(head), benchmark: { kind, name, entry } };
}
