/** Finds and kills what a program on this machine left running: by session, and on Linux by a mark in the environment too. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PS_TIMEOUT_MS = 10_000;

/** Kills a process group at once; one that is gone already is fine. */
export function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // ESRCH: nothing of it is left. EPERM: macOS says so for a group of zombies.
  }
}

/** Ids of live processes of any of `sessions`, or with `mark` (`NAME=value`) in their environment where /proc tells it. */
export async function processesOf(sessions: ReadonlySet<number>, mark: string): Promise<readonly number[]> {
  const listed = await readdir('/proc').catch(() => []);
  const ids = listed.filter((name) => /^\d+$/.test(name)).map(Number);
  if (ids.length === 0) return processesOfGroups(sessions);
  const found = await Promise.all(ids.map(async (id) => ((await isOneOf(id, sessions, mark)) ? [id] : [])));
  return found.flat();
}

/** A process that ended while it was looked at is none. */
async function isOneOf(id: number, sessions: ReadonlySet<number>, mark: string): Promise<boolean> {
  const stat = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => null);
  const process = stat === null ? null : parseProcessStat(stat);
  if (process === null || process.isZombie) return false;
  if (sessions.has(process.session)) return true;
  // Only a process of the same user can be read, and only such a one can be ours.
  const environment = await readFile(`/proc/${id}/environ`, 'latin1').catch(() => '');
  return environment.split('\0').includes(mark);
}

/** Session and state out of `/proc/PID/stat`; the program's name in it may hold spaces and brackets. Null for other text. */
export function parseProcessStat(
  text: string,
): { readonly session: number; readonly isZombie: boolean } | null {
  const fields = text
    .slice(text.lastIndexOf(')') + 1)
    .trim()
    .split(' ');
  const [state, , , session] = fields;
  if (state === undefined || session === undefined || !/^\d+$/.test(session)) return null;
  return { session: Number(session), isZombie: state === 'Z' || state === 'X' };
}

/** Without /proc, as on macOS: `ps` tells groups; a program that makes a session of its own escapes it. */
async function processesOfGroups(groups: ReadonlySet<number>): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,pgid=,stat='], { timeout: PS_TIMEOUT_MS });
  return parseProcessGroups(stdout, groups);
}

/** Reads `ps -A -o pid=,pgid=,stat=`. */
export function parseProcessGroups(text: string, groups: ReadonlySet<number>): readonly number[] {
  return text.split('\n').flatMap((line) => {
    const [id, group, state = ''] = line.trim().split(/\s+/);
    return groups.has(Number(group)) && !state.startsWith('Z') ? [Number(id)] : [];
  });
}
