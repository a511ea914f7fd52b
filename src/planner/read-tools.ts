/** Tools that look but never touch: list, read and search, in the sandbox on a read-only workspace or in the base commit itself. */
import { z } from 'zod';
import type { CommandResult } from '../domain/sandbox.js';
import type { BaseFiles } from './base-files.js';
import { defineTool, result, type Tool } from './tool.js';
import { workspacePath } from './workspace-path.js';
import { READ_FILE } from './workspace-scripts.js';
import type { WorkspaceShell } from './workspace-shell.js';
import { ending } from './workspace-shell.js';

const TIMEOUT_MS = 30_000;
const MAX_LINES = 500;
const MAX_MATCHES_PER_FILE = 50;
/** Looks of the workspace that git does not hold: dependencies are named only when asked for. */
const NEVER_SEARCHED = ['!.git', '!**/node_modules/**'];

const listSchema = z.object({
  path: workspacePath.optional().describe('Folder to list, recursively; left out: everything'),
});
const readSchema = z.object({
  path: workspacePath,
  start_line: z.number().int().min(1).optional().describe('First line, from 1'),
  end_line: z.number().int().min(1).optional().describe(`Last line; at most ${MAX_LINES} lines come back`),
});
const searchSchema = z.object({
  pattern: z.string().min(1).max(1000).describe('Regular expression of ripgrep'),
  path: workspacePath.optional().describe('File or folder to search in'),
  ignore_case: z.boolean().optional(),
});

/**
 * The three reading tools over one workspace. `outputBytes` bounds what one call returns. With `base` the workspace is the
 * untouched base commit, and what the commit holds is read from it without a container.
 */
export function readTools(
  shell: WorkspaceShell,
  outputBytes: number,
  base: BaseFiles | null = null,
): readonly Tool[] {
  const bounds = { timeoutMs: TIMEOUT_MS, outputBytes, readOnlyWorkspace: true };
  const list = defineTool({
    name: 'list_files',
    description: 'Lists the files of the repository (tracked and new ones, without ignored ones).',
    schema: listSchema,
    subject: (input) => input.path ?? '',
    run: async (input) => {
      const known = await base?.list(input.path ?? '.');
      if (typeof known === 'string') return result(known);
      const argv = [
        'git',
        '-c',
        'core.quotePath=false',
        'ls-files',
        '--cached',
        '--others',
        '--exclude-standard',
      ];
      const listed = await shell.run({ ...bounds, argv: [...argv, '--', input.path ?? '.'] });
      return result(said(listed, 'no files there'));
    },
  });
  const read = defineTool({
    name: 'read_file',
    description:
      'Reads lines of a text file. The first line of the answer names the lines; it is not in the file.',
    schema: readSchema,
    subject: (input) => input.path,
    run: async (input) => {
      const first = input.start_line ?? 1;
      const last = Math.min(input.end_line ?? Number.MAX_SAFE_INTEGER, first + MAX_LINES - 1);
      const known = await base?.read(input.path, first, last);
      if (typeof known === 'string') return result(known);
      const options = { readOnly: true, timeoutMs: TIMEOUT_MS, outputBytes };
      return result(said(await shell.script(READ_FILE, { path: input.path, first, last }, options), 'empty'));
    },
  });
  const search = defineTool({
    name: 'search',
    description:
      'Searches file contents with ripgrep; answers path:line:text. Dependencies only when path names them.',
    schema: searchSchema,
    subject: (input) => input.pattern,
    run: async (input) => {
      const inDependencies = input.path?.includes('node_modules') === true;
      const globs = (inDependencies ? NEVER_SEARCHED.slice(0, 1) : NEVER_SEARCHED).flatMap((one) => [
        '-g',
        one,
      ]);
      const argv = [
        'rg',
        '--no-config',
        '--line-number',
        '--no-heading',
        '--with-filename',
        '--color=never',
        '--hidden',
        '--no-ignore',
        '--sort=path',
        '--max-columns=300',
        `--max-count=${MAX_MATCHES_PER_FILE}`,
        ...(input.ignore_case === true ? ['--ignore-case'] : []),
        ...globs,
        '-e',
        input.pattern,
        '--',
        input.path ?? '.',
      ];
      const found = await shell.run({ ...bounds, argv });
      // ripgrep leaves with 1 when nothing matches.
      return result(found.exitCode === 1 ? 'no match' : said(found, 'no match'));
    },
  });
  return [list, read, search];
}

/** Stdout when all is well, else the refusal or how it ended. */
export function said(done: CommandResult, whenEmpty: string): string {
  const out = done.stdout.text;
  if (done.outcome === 'exited' && done.exitCode === 0) return out === '' ? whenEmpty : out;
  return `failed (${ending(done)}): ${out}${done.stderr.text}`.trim();
}
