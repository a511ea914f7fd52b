/**
 * A sandbox without a container, for unit tests of the planner: commands run in a folder of their own on this machine. Only
 * programs written by the tests and by the planner itself ever run in it.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { UserError } from '../../../src/domain/errors.js';
import type { RepositoryRef, SourceMirror } from '../../../src/domain/repository.js';
import type { CommandResult, Sandbox, SandboxCommand } from '../../../src/domain/sandbox.js';

export interface DirectoryRig {
  readonly sandbox: Sandbox;
  readonly mirror: SourceMirror;
  /** Folder that stands for `/ws`. */
  readonly directory: string;
  readonly baseCommit: string;
  readonly commands: SandboxCommand[];
  close(): Promise<void>;
}

const GIT_ENV = {
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'base',
  GIT_AUTHOR_EMAIL: 'base@example.test',
  GIT_COMMITTER_NAME: 'base',
  GIT_COMMITTER_EMAIL: 'base@example.test',
};

/** Makes a repository with one commit of `files`; sandbox and mirror both look at it. */
export function directoryRig(files: Readonly<Record<string, string | Buffer>>): DirectoryRig {
  const directory = mkdtempSync(join(tmpdir(), 'hasten-planner-'));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
  git(directory, ['init', '-q']);
  git(directory, ['add', '-A']);
  git(directory, ['commit', '-q', '-m', 'base']);
  const baseCommit = git(directory, ['rev-parse', 'HEAD']).trim();
  const commands: SandboxCommand[] = [];
  return {
    sandbox: sandboxOver(directory, commands),
    mirror: mirrorOver(directory),
    directory,
    baseCommit,
    commands,
    close: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

function git(
  cwd: string,
  args: readonly string[],
  input?: string,
  env: Readonly<Record<string, string>> = {},
): string {
  const done = spawnSync('git', args, {
    cwd,
    env: { ...GIT_ENV, ...env },
    input: input ?? '',
    encoding: 'utf8',
  });
  if (done.status !== 0) throw new Error(`git ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
}

function sandboxOver(directory: string, commands: SandboxCommand[]): Sandbox {
  const never = () => Promise.reject(new Error('not part of this fake'));
  return {
    check: async () => ({ ok: true, detail: 'a folder', imageId: null, runtime: 'none' }),
    prepare: async (spec) => ({ run: spec.run, name: spec.name, ref: directory, dependenciesCached: true }),
    run: async (_, command) => {
      commands.push(command);
      return runIn(directory, command);
    },
    openArm: never,
    measurementCpuset: () => '0',
    discard: async () => undefined,
    reap: async () => 0,
  };
}

function runIn(directory: string, command: SandboxCommand): CommandResult {
  const [program = '', ...args] = command.argv;
  const input = String(command.stdin ?? '').replace('"root":"/ws"', `"root":${JSON.stringify(directory)}`);
  const done = spawnSync(program, args, {
    cwd: directory,
    env: { ...GIT_ENV, ...command.env },
    input,
    encoding: 'utf8',
    timeout: command.timeoutMs,
  });
  const text = (all: string | null) => {
    const shown = all ?? '';
    return { text: shown, totalBytes: Buffer.byteLength(shown), truncated: false };
  };
  // A program that this machine lacks ends like one that the image lacks.
  const status =
    done.error !== undefined && 'code' in done.error && done.error.code === 'ENOENT' ? 127 : done.status;
  return {
    outcome: status === null ? 'timed-out' : 'exited',
    exitCode: status,
    stdout: text(done.stdout),
    stderr: text(done.stderr),
    wallMs: 1,
  };
}

function mirrorOver(directory: string): SourceMirror {
  return {
    fetch: async () => undefined,
    readFile: async (_: RepositoryRef, treeish, path) => {
      try {
        return Buffer.from(git(directory, ['cat-file', 'blob', `${treeish}:${path}`]));
      } catch {
        return null;
      }
    },
    listFiles: async () => [],
    applyPatch: async (_, commit, diff) => {
      const env = { GIT_INDEX_FILE: join(directory, '.git', 'mirror-index') };
      try {
        git(directory, ['read-tree', commit], '', env);
        git(directory, ['apply', '--cached', '-'], diff, env);
      } catch (cause) {
        throw new UserError({ code: 'PATCH_DOES_NOT_APPLY', message: 'does not apply', cause });
      }
      const tree = git(directory, ['write-tree'], '', env).trim();
      const rows = git(directory, ['diff', '--numstat', commit, tree]).trim().split('\n');
      const changes = rows.map((row) => {
        const [additions, deletions, path = ''] = row.split('\t');
        const sides = { status: 'modified', oldMode: '100644', newMode: '100644' } as const;
        return {
          path,
          ...sides,
          newSize: 1,
          additions: Number(additions),
          deletions: Number(deletions),
          binary: false,
        };
      });
      return { tree, changes };
    },
    archive: () => Readable.from([]),
    writeBranch: async () => '',
  };
}
