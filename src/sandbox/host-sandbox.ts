/** The Sandbox port on this machine itself, without isolation: plain folders, programs with the user's rights. Only for code that the user trusts. */
import { execFile, spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { arch, availableParallelism, platform } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BugError, PeerError, UserError } from '../domain/errors.js';
import type { SourceMirror } from '../domain/repository.js';
import type { InstallSpec, Sandbox, Workspace, WorkspaceSpec } from '../domain/sandbox.js';
import { isSafePath } from './git-patch.js';
import { createHostArm } from './host-arm.js';
import { type HostCommand, runOnHost } from './host-process.js';

export interface HostSandboxOptions {
  /** Absolute path of a folder of its own; `discard` removes it. */
  readonly directory: string;
  readonly mirror: SourceMirror;
}

/** Said where a cpuset stands, when nothing can pin. */
export const NOT_PINNED = 'not pinned';
const HARNESS = fileURLToPath(new URL('../../sandbox/harness', import.meta.url));
const INSTALL_TIMEOUT_MS = 600_000;
const EVIDENCE_CHARACTERS = 3000;
const INSTALL: Readonly<Record<Exclude<InstallSpec['packageManager'], 'none'>, readonly string[]>> = {
  npm: ['npm', 'ci', '--no-audit', '--no-fund'],
  pnpm: ['pnpm', 'install', '--frozen-lockfile'],
  yarn: ['yarn', 'install', '--frozen-lockfile', '--non-interactive'],
};

/** Looks once whether `taskset` is there; nothing is written before the first `prepare`. */
export async function createHostSandbox(options: HostSandboxOptions): Promise<Sandbox> {
  const cpuset = (await hasTaskset()) ? String(availableParallelism() - 1) : NOT_PINNED;
  const made = new Map<string, Promise<Workspace>>();
  return {
    check: async () => ({
      ok: true,
      detail: `${platform()} ${arch()}, Node ${process.version}, CPUs ${cpuset}, not isolated`,
      imageId: null,
      runtime: 'host',
    }),
    prepare(spec, signal) {
      const identity = [spec.name, spec.repository.id, spec.tree ?? spec.baseCommit, spec.install];
      const key = JSON.stringify([
        ...identity,
        [...(spec.overlay ?? [])].map(([path, text]) => [path, String(text)]),
      ]);
      const known = made.get(key) ?? fill(options, spec, `${spec.name}-${made.size}`, signal);
      made.set(key, known);
      return known;
    },
    run: (workspace, command, signal) => {
      const { argv, cwd = '', env, stdin, timeoutMs, outputBytes } = command;
      const asked: HostCommand = {
        argv,
        cwd: join(workspace.ref, cwd),
        timeoutMs,
        ...(env === undefined ? {} : { env }),
        ...(stdin === undefined ? {} : { stdin }),
        ...(outputBytes === undefined ? {} : { outputBytes }),
      };
      return runOnHost(asked, signal);
    },
    openArm: async (workspace, asked, signal) =>
      createHostArm({
        workspace: workspace.ref,
        harness: HARNESS,
        pinning: asked.cpuset === NOT_PINNED ? [] : ['taskset', '-c', asked.cpuset],
        signal,
      }),
    measurementCpuset: () => cpuset,
    discard: () => rm(options.directory, { recursive: true, force: true, maxRetries: 3 }),
    reap: async () => 0,
  };
}

async function hasTaskset(): Promise<boolean> {
  return promisify(execFile)('taskset', ['--version'], { timeout: 10_000 }).then(
    () => true,
    () => false,
  );
}

async function fill(
  options: HostSandboxOptions,
  spec: WorkspaceSpec,
  folder: string,
  signal: AbortSignal,
): Promise<Workspace> {
  const ref = resolve(options.directory, folder);
  await mkdir(ref, { recursive: true });
  await unpack(options.mirror, spec, ref, signal);
  await install(spec.install, ref, signal);
  for (const [path, content] of spec.overlay ?? []) {
    if (!isSafePath(path)) {
      throw new BugError({
        code: 'OVERLAY_PATH_NOT_ALLOWED',
        message: `files laid over a tree have paths below its root, got ${JSON.stringify(path)}`,
      });
    }
    await mkdir(dirname(join(ref, path)), { recursive: true });
    await writeFile(join(ref, path), content);
  }
  return { run: spec.run, name: spec.name, ref, dependenciesCached: false };
}

async function unpack(
  mirror: SourceMirror,
  spec: WorkspaceSpec,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  const tar = spawn('tar', ['-x', '-f', '-', '-C', directory], {
    stdio: ['pipe', 'ignore', 'pipe'],
    signal,
  });
  let said = '';
  tar.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-1000);
  });
  const archive = mirror.archive(spec.repository, spec.tree ?? spec.baseCommit);
  let failure: Error | null = null;
  archive.once('error', (error: Error) => {
    failure = error;
    tar.stdin.end();
  });
  // tar ends at the archive's last entry, before it has read what git pads it with.
  tar.stdin.on('error', () => {});
  archive.pipe(tar.stdin);
  const code = await new Promise<number | null>((settle, reject) => {
    tar.once('error', reject);
    tar.once('close', settle);
  }).finally(() => archive.destroy());
  if (failure !== null) throw failure;
  if (code === 0) return;
  throw new PeerError({
    code: 'WORKSPACE_NOT_FILLED',
    message: `unpacking ${spec.name} failed (tar ended with ${code}): ${said.trim()}`,
    retryable: false,
  });
}

/** With the package manager of this machine and its scripts, as the user would. */
async function install(spec: InstallSpec, directory: string, signal: AbortSignal): Promise<void> {
  if (spec.packageManager === 'none') return;
  const argv = spec.command === null ? INSTALL[spec.packageManager] : ['sh', '-c', spec.command];
  const timeoutMs = spec.timeoutMs ?? INSTALL_TIMEOUT_MS;
  const result = await runOnHost({ argv, cwd: directory, timeoutMs }, signal);
  if (result.outcome === 'exited' && result.exitCode === 0) return;
  const how = result.outcome === 'exited' ? `exit code ${result.exitCode}` : result.outcome;
  const output = `${result.stdout.text}\n${result.stderr.text}`.trim().slice(-EVIDENCE_CHARACTERS);
  throw new UserError({
    code: 'INSTALL_FAILED',
    message: `installing dependencies with ${argv.join(' ')} failed (${how})\n${output}`,
  });
}
