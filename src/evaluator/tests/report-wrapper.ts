/** The shell around a test command that hands out the files which runners wrote as reports, behind everything the command printed. */
import { gunzipSync } from 'node:zlib';

/** Bytes of compressed reports that are handed out; base64 makes them a third longer. */
const MOST_PACKED_BYTES = 2.5 * 2 ** 20;
const MOST_UNPACKED_BYTES = 64 * 2 ** 20;

/**
 * Bytes to keep of a stream whose end holds the report: the capture keeps half of them from the tail, which is more
 * than the report can be.
 */
export const REPORT_OUTPUT_BYTES = 8 * 2 ** 20;

/**
 * The shell takes the nonce from standard input into a variable that it does not export: it is in no argv and no
 * environment, and the command gets an empty standard input. So text that the repository's code prints cannot pass for
 * the report. Code that runs inside the runner's own process can still write what it likes into the report file, or
 * make the runner believe it; nothing around a process can tell. Against that stands the planted failing test: the
 * same code would have to let it be seen to fail.
 */
const WRAPPER = `directory=$1 limit=$2 command=$3
read -r nonce
mkdir -p "$directory"
sh -c "$command" </dev/null
status=$?
cd "$directory" || exit "$status"
packed="$directory.gz"
for file in *; do
  if [ -f "$file" ]; then printf '\\n%s %s\\n' "$nonce" "$file"; cat "$file"; fi
done | gzip -c > "$packed"
printf '\\n%s report\\n' "$nonce"
if [ "$(stat -c %s "$packed")" -le "$limit" ]; then base64 -w 0 "$packed"; fi
printf '\\n'
exit "$status"`;

/** Arguments of the container; `directory` is where runners are told to write. The nonce goes to standard input, with a line end. */
export function wrappedArgv(command: string, directory: string): readonly string[] {
  return ['sh', '-c', WRAPPER, 'sh', directory, String(MOST_PACKED_BYTES), command];
}

export interface Unwrapped {
  /** What the command itself printed. */
  readonly printed: string;
  /** Report files by name; null where they are missing, cut or too large. */
  readonly files: ReadonlyMap<string, string> | null;
}

/** Takes the report from the end of the standard output. */
export function unwrapped(stdout: string, nonce: string): Unwrapped {
  const marker = `\n${nonce} report\n`;
  const at = stdout.lastIndexOf(marker);
  if (at < 0) return { printed: stdout, files: null };
  const packed = stdout.slice(at + marker.length).trim();
  return { printed: stdout.slice(0, at), files: unpacked(packed, nonce) };
}

function unpacked(packed: string, nonce: string): ReadonlyMap<string, string> | null {
  try {
    const bytes = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: MOST_UNPACKED_BYTES });
    const parts = bytes.toString('utf8').split(`\n${nonce} `).slice(1);
    return new Map(
      parts.map((part): [string, string] => {
        const end = part.indexOf('\n');
        return [part.slice(0, end), part.slice(end + 1)];
      }),
    );
  } catch {
    return null;
  }
}
