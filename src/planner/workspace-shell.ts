/** The planner's way into its workspace: bounded commands in the sandbox, told as text that the model can read. */
import type { BoundedOutput, CommandResult, Sandbox, SandboxCommand, Workspace } from '../domain/sandbox.js';

/** Where the workspace is seen inside each container. */
export const WORKSPACE_ROOT = '/ws';

export interface WorkspaceShell {
  /** One command in one fresh container, without network. */
  run(command: SandboxCommand): Promise<CommandResult>;
  /** Runs a program of `workspace-scripts.ts` with JSON on stdin. */
  script(
    source: string,
    input: Readonly<Record<string, string | number>>,
    options: { readonly readOnly: boolean; readonly timeoutMs: number; readonly outputBytes: number },
  ): Promise<CommandResult>;
}

/** Binds a sandbox to one workspace and the station's cancellation. */
export function createWorkspaceShell(
  sandbox: Sandbox,
  workspace: Workspace,
  signal: AbortSignal,
): WorkspaceShell {
  const run = (command: SandboxCommand) => sandbox.run(workspace, command, signal);
  return {
    run,
    script: (source, input, options) =>
      run({
        // Without the input type, a package.json of the repository would decide how the program is read.
        argv: ['node', '--input-type=commonjs', '-e', source],
        stdin: JSON.stringify({ root: WORKSPACE_ROOT, ...input }),
        timeoutMs: options.timeoutMs,
        outputBytes: options.outputBytes,
        readOnlyWorkspace: options.readOnly,
      }),
  };
}

/** How a command ended, in one line, for anything but a plain exit 0. */
export function ending(result: CommandResult): string {
  if (result.outcome === 'exited') return `exit code ${result.exitCode ?? 'unknown'}`;
  if (result.outcome === 'timed-out') return `stopped: over its time after ${Math.round(result.wallMs)} ms`;
  if (result.outcome === 'flooded') return 'stopped: it printed too much';
  return 'stopped: out of memory';
}

/** Output of a command as text for the model. */
export function transcript(result: CommandResult): string {
  const parts = [ending(result)];
  if (result.stdout.text !== '') parts.push(`stdout:\n${withoutEnd(result.stdout)}`);
  if (result.stderr.text !== '') parts.push(`stderr:\n${withoutEnd(result.stderr)}`);
  return parts.join('\n');
}

function withoutEnd(output: BoundedOutput): string {
  return output.text.replace(/\s+$/, '');
}
