/** The patch of an edited workspace: taken out after each edit turn, put back after a restart or for the next attempt. */
import { createHash } from 'node:crypto';
import { PeerError } from '../domain/errors.js';
import type { CommandResult } from '../domain/sandbox.js';
import { headAndTail } from './bounded-text.js';
import { ending, type WorkspaceShell } from './workspace-shell.js';

const TIMEOUT_MS = 120_000;
const MAX_DIFF_BYTES = 8 * 1024 * 1024;
/** The only commit that Hasten made; the model may have committed on top of it by habit. */
const ROOT = 'root=$(git rev-list --max-parents=0 HEAD | tail -n 1) && test -n "$root"';
// Settings that code in the workspace may have written into .git/config must not change the patch's form.
const GIT =
  'git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.quotePath=true -c diff.noprefix=false -c diff.mnemonicPrefix=false';
/** `.hasten` is the model's scratch folder. */
// The sum lets the host see that the text which arrived is what git wrote, byte for byte.
const DIFF = `${ROOT} && patch=$(mktemp) && ${GIT} add -A -N -- . ':(exclude).hasten' && ${GIT} diff --binary --no-color --no-ext-diff --no-textconv --no-renames "$root" -- . ':(exclude).hasten' > "$patch" && sha256sum < "$patch" >&2 && cat "$patch"; code=$?; rm -f "$patch"; exit $code`;
const RESET = `${ROOT} && ${GIT} reset -q --hard "$root" && ${GIT} clean -fdq`;
const RESET_AND_APPLY = `${RESET} && ${GIT} apply --whitespace=nowarn -`;

/** `git diff --binary` of the workspace against its base, `` for no change. Throws PeerError `WORKSPACE_BROKEN`, `PATCH_TOO_LARGE`, `PATCH_NOT_UTF8`. */
export async function takeDiff(shell: WorkspaceShell): Promise<string> {
  const done = await shell.run({
    argv: ['sh', '-c', DIFF],
    timeoutMs: TIMEOUT_MS,
    // The adapter keeps half of it from each end, and a patch with a hole is no patch.
    outputBytes: MAX_DIFF_BYTES,
  });
  if (done.stdout.truncated || done.outcome === 'flooded') {
    throw new PeerError({
      code: 'PATCH_TOO_LARGE',
      message: `The patch has more than ${MAX_DIFF_BYTES} bytes; build output or other generated files may be in it.`,
      retryable: false,
    });
  }
  if (done.exitCode !== 0) throw broken('its patch could not be taken', done);
  const diff = done.stdout.text;
  const sum = createHash('sha256').update(diff).digest('hex');
  if (done.stderr.text.includes(sum)) return diff;
  throw new PeerError({
    code: 'PATCH_NOT_UTF8',
    message:
      'The patch touches a text file that is not UTF-8; such files cannot be carried as text and are left alone.',
    retryable: false,
  });
}

/** Makes the workspace base + `diff` again (`` for the bare base); ignored files such as dependencies stay. Throws PeerError `WORKSPACE_BROKEN`. */
export async function restoreDiff(shell: WorkspaceShell, diff: string): Promise<void> {
  const done = await shell.run({
    argv: ['sh', '-c', diff === '' ? RESET : RESET_AND_APPLY],
    timeoutMs: TIMEOUT_MS,
    ...(diff === '' ? {} : { stdin: diff }),
  });
  if (done.exitCode !== 0) throw broken('its last patch could not be put back', done);
}

function broken(what: string, done: CommandResult): PeerError {
  const output = headAndTail(`${done.stdout.text}${done.stderr.text}`.trim(), 1000);
  return new PeerError({
    code: 'WORKSPACE_BROKEN',
    message: `The workspace cannot be used: ${what} (${ending(done)}): ${output}`,
    retryable: false,
  });
}
