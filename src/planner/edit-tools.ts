/** Tools that change the workspace: exact replacement, whole files, bounded commands; all of it inside the sandbox. */
import { z } from 'zod';
import { said } from './read-tools.js';
import { defineTool, result, type Tool } from './tool.js';
import { workspacePath } from './workspace-path.js';
import { EDIT_FILE, WRITE_FILE } from './workspace-scripts.js';
import { transcript, type WorkspaceShell } from './workspace-shell.js';

const EDIT_TIMEOUT_MS = 30_000;
const MAX_TEXT_CHARACTERS = 400_000;
const MAX_COMMAND_CHARACTERS = 20_000;

const editSchema = z.object({
  path: workspacePath,
  old: z.string().min(1).max(MAX_TEXT_CHARACTERS).describe('Text that occurs exactly once in the file'),
  new: z.string().max(MAX_TEXT_CHARACTERS).describe('Text that takes its place'),
});
const writeSchema = z.object({
  path: workspacePath,
  content: z.string().max(MAX_TEXT_CHARACTERS).describe('The whole new content'),
});
const commandSchema = z.object({
  command: z.string().min(1).max(MAX_COMMAND_CHARACTERS).describe('Shell command, run by sh -c in the root'),
});

export interface EditToolLimits {
  readonly outputBytes: number;
  /** Milliseconds that one command of the model may take. */
  readonly commandTimeoutMs: number;
  /** Bytes of memory of one command. */
  readonly memoryBytes: number;
}

/** The three changing tools over one workspace. */
export function editTools(shell: WorkspaceShell, limits: EditToolLimits): readonly Tool[] {
  const options = { readOnly: false, timeoutMs: EDIT_TIMEOUT_MS, outputBytes: limits.outputBytes };
  const edit = defineTool({
    name: 'edit_file',
    description:
      'Replaces one piece of text in a file; the old text must occur exactly once, white space included.',
    schema: editSchema,
    changesWorkspace: true,
    subject: (input) => input.path,
    run: async (input) => result(said(await shell.script(EDIT_FILE, input, options), 'edited')),
  });
  const write = defineTool({
    name: 'write_file',
    description: 'Makes a file, or replaces the whole content of one. For small changes use edit_file.',
    schema: writeSchema,
    changesWorkspace: true,
    subject: (input) => input.path,
    run: async (input) => result(said(await shell.script(WRITE_FILE, input, options), 'wrote')),
  });
  const command = defineTool({
    name: 'run_command',
    description:
      'Runs a shell command in the workspace: no network, limited time, memory and output, a fresh container each time ' +
      '(only the workspace persists). For tests, quick timings, git status.',
    schema: commandSchema,
    changesWorkspace: true,
    subject: (input) => input.command,
    run: async (input) =>
      result(
        transcript(
          await shell.run({
            argv: ['sh', '-c', input.command],
            timeoutMs: limits.commandTimeoutMs,
            memoryBytes: limits.memoryBytes,
            outputBytes: limits.outputBytes,
          }),
        ),
      ),
  });
  return [edit, write, command];
}
