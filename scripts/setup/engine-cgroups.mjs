// @ts-check
// Mounts the control groups that an engine needs on a system whose init did not.
import { mkdirSync, readFileSync } from 'node:fs';
import { capture, SetUpError } from './command.mjs';

const ROOT = '/sys/fs/cgroup';

/**
 * @param {string} mounts content of /proc/mounts
 * @returns {boolean} whether some control group hierarchy with controllers is mounted
 */
export function hasControlGroups(mounts) {
  return mounts.split('\n').some((line) => {
    const [, target, type] = line.split(' ');
    return (type === 'cgroup2' && target === ROOT) || (type === 'cgroup' && target !== `${ROOT}/systemd`);
  });
}

/**
 * @param {string} table content of /proc/cgroups
 * @returns {string[]} the controllers that the kernel has switched on
 */
export function enabledControllers(table) {
  return table
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'))
    .filter((fields) => fields[3] === '1')
    .map((fields) => fields[0] ?? '');
}

/**
 * Mounts version 1, one folder per controller; nothing happens where a hierarchy is there.
 * @param {(line: string) => void} log
 * @throws {SetUpError}
 */
export async function mountControlGroups(log) {
  if (hasControlGroups(readFileSync('/proc/mounts', 'utf8'))) return;
  log('engine: mounting the control groups, which nothing on this system did');
  await mount(['-t', 'tmpfs', '-o', 'uid=0,gid=0,mode=0755', 'cgroup', ROOT]);
  for (const controller of enabledControllers(readFileSync('/proc/cgroups', 'utf8'))) {
    mkdirSync(`${ROOT}/${controller}`, { recursive: true });
    await mount(['-t', 'cgroup', '-o', controller, 'cgroup', `${ROOT}/${controller}`]);
  }
}

/** @param {string[]} args */
async function mount(args) {
  const { code, stderr } = await capture(['mount', '-n', ...args]);
  if (code === 0) return;
  throw new SetUpError(
    `Docker needs control groups, and they could not be mounted (${stderr.trim()}): mount them or use a system whose init does.`,
  );
}
