/** What stands around a command inside its container: directory, inner deadline, and word of a kill for lack of memory. */
import { BugError } from '../domain/errors.js';
import type { BoundedOutput } from '../domain/sandbox.js';

/** Seconds that the watchdog inside the container waits longer than the one outside. */
const INNER_GRACE_SECONDS = 10;

/**
 * Shell built-ins only, so that it still works when no process can be started. The kernel's own count of kills is read inside,
 * because some engines miss the event and the cgroup is gone right after the exit. A command could write the marker as well,
 * and would only call itself out of memory.
 */
const WATCH = `seconds=$1 marker=$2 directory=$3
shift 3
cd -- "$directory" || exit 126
timeout --signal=KILL "$seconds" "$@"
code=$?
for file in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
  [ -r "$file" ] || continue
  while read -r name count; do
    if [ "$name" = oom_kill ] && [ "$count" != 0 ]; then printf '\\n%s' "$marker" >&2; fi
  done < "$file"
done
exit "$code"`;

/** Arguments of the container: the watcher, then the command untouched. `cwd` is below `/ws`. Throws BugError `CWD_OUTSIDE_WORKSPACE`. */
export function watchedArgv(
  argv: readonly string[],
  options: { readonly cwd: string | undefined; readonly timeoutMs: number; readonly marker: string },
): readonly string[] {
  const seconds = Math.ceil(options.timeoutMs / 1000) + INNER_GRACE_SECONDS;
  const directory = workspaceDirectory(options.cwd ?? '');
  return ['/bin/sh', '-c', WATCH, 'sh', String(seconds), options.marker, directory, ...argv];
}

/** Takes the marker out of the stderr that carries it. */
export function takeMarker(
  stderr: BoundedOutput,
  marker: string,
): { readonly stderr: BoundedOutput; readonly found: boolean } {
  const text = `\n${marker}`;
  const at = stderr.text.lastIndexOf(text);
  if (at < 0) return { stderr, found: false };
  const rest = stderr.text.slice(0, at) + stderr.text.slice(at + text.length);
  return { stderr: { ...stderr, text: rest, totalBytes: stderr.totalBytes - text.length }, found: true };
}

function workspaceDirectory(cwd: string): string {
  if (cwd.startsWith('/') || cwd.split('/').includes('..') || cwd.includes('\0')) {
    throw new BugError({
      code: 'CWD_OUTSIDE_WORKSPACE',
      message: `a command's directory is relative to the workspace, got ${JSON.stringify(cwd)}`,
    });
  }
  return `/ws/${cwd}`;
}
