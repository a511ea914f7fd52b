/** The real sandbox and the real mirror over a repository in a folder, for tests of the planner. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { SourceMirror } from '../../../src/domain/repository.js';
import type { Sandbox } from '../../../src/domain/sandbox.js';
import { createDockerSandbox } from '../../../src/sandbox/docker-sandbox.js';
import { createGitMirror } from '../../../src/sandbox/git-mirror.js';

export interface DockerRig {
  readonly sandbox: Sandbox;
  readonly mirror: SourceMirror;
  /** Folder with the repository. */
  readonly directory: string;
  readonly baseCommit: string;
  /** Unique per rig, so that discarding it removes nothing else. */
  readonly run: string;
  close(): Promise<void>;
}

const IDENTITY = ['-c', 'user.name=base', '-c', 'user.email=base@example.test'];

export interface DockerRigFiles {
  readonly files: Readonly<Record<string, string | Buffer>>;
  /** Path to target. */
  readonly links?: Readonly<Record<string, string>>;
}

/** Makes a repository with one commit of the files; needs the sandbox image. */
export function dockerRig(content: DockerRigFiles): DockerRig {
  const root = mkdtempSync(join(tmpdir(), 'hasten-planner-docker-'));
  const directory = join(root, 'repository');
  for (const [path, text] of Object.entries(content.files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  for (const [path, target] of Object.entries(content.links ?? {}))
    symlinkSync(target, join(directory, path));
  git(directory, ['init', '-q', '-b', 'main']);
  git(directory, ['add', '-A', '-f']);
  git(directory, [...IDENTITY, 'commit', '-q', '-m', 'base']);
  const run = `planner${randomBytes(4).toString('hex')}`;
  const dataDir = join(root, 'data');
  const mirror = createGitMirror({ dataDir, credentials: { tokenFor: async () => null } });
  const sandbox = createDockerSandbox({
    docker: {},
    imageTag: 'hasten-sandbox:latest',
    runtime: 'runc',
    owner: run,
    dataDir,
    mirror,
    registryUrl: process.env.npm_config_registry ?? 'https://registry.npmjs.org/',
    now: Date.now,
    log: () => undefined,
  });
  return {
    sandbox,
    mirror,
    directory,
    baseCommit: git(directory, ['rev-parse', 'HEAD']).trim(),
    run,
    async close() {
      await sandbox.discard(run);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function git(cwd: string, args: readonly string[]): string {
  const done = spawnSync('git', args, { cwd, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`git ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
}
