// @ts-check
// Runs as the first process of fresh mount, network and process namespaces: starts an engine of its own there by
// set-up, kills it in the way named by the first argument, sets up again and prints what came of it as JSON.
// Nothing here can reach the engine of the machine: /run and /var/lib/docker are covered, and leaving ends all.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createContext } from '../../../scripts/setup/context.mjs';
import { ensureEngine } from '../../../scripts/setup/engine.mjs';
import { processesNamed } from '../../../scripts/setup/processes.mjs';

/** What is killed with signal 9; a killed machine leaves none of them, a crash of one daemon the others. */
const KILLED = {
  daemons: ['dockerd', 'containerd'],
  everything: ['dockerd', 'containerd', 'containerd-shim', 'sleep'],
  'all but the containers': ['dockerd', 'containerd', 'containerd-shim'],
};

const [way = '', folder = ''] = process.argv.slice(2);
cover(folder);
/** @type {string[]} */
const log = [];
const context = createContext({ root: folder, log: (line) => log.push(line), yes: true });

const first = await ensureEngine(context);
importSleepImage();
// As its namespace's first process, sleep does not end by SIGTERM: stopping it the polite way takes 10 s.
docker(['run', '--detach', '--name', 'left-behind', '--network', 'none', 'sleeper', '/bin/sleep', '600']);
for (const name of KILLED[/** @type {keyof typeof KILLED} */ (way)]) {
  for (const { pid } of processesNamed(name)) process.kill(pid, 'SIGKILL');
}
if (process.argv.includes('--reuse-pids')) {
  for (const file of ['/run/docker.pid', '/run/docker/containerd/containerd.pid']) writeFileSync(file, '1');
}

const started = performance.now();
const [second, third] = await Promise.all([ensureEngine(context), ensureEngine(context)]);
const seconds = (performance.now() - started) / 1000;
const state = docker(['inspect', '--format', '{{.State.Status}}', 'left-behind']);
docker(['rm', '--force', 'left-behind']);
const fresh = docker(['run', '--rm', '--network', 'none', 'sleeper', '/bin/sleep', '--version']);
const engines = processesNamed('dockerd').length;
const sleepers = processesNamed('sleep').length;
console.log(JSON.stringify({ first, second, third, seconds, state, fresh, engines, sleepers, log }));
process.exit(0);

/** @param {string} ours a folder that takes the place of everything an engine of this machine uses */
function cover(ours) {
  mkdirSync(`${ours}/docker`, { recursive: true });
  mkdirSync('/var/lib/docker', { recursive: true });
  const commands = [
    ['mount', '--make-rprivate', '/'],
    ['mount', '-t', 'tmpfs', 'tmpfs', '/run'],
    ['mount', '--bind', `${ours}/docker`, '/var/lib/docker'],
    ['ip', 'link', 'set', 'lo', 'up'],
  ];
  for (const [program = '', ...args] of commands) execFileSync(program, args);
}

/** The smallest image that can wait: the program sleep and the libraries that it names. */
function importSleepImage() {
  const libraries = execFileSync('ldd', ['/bin/sleep'], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
  const files = ['/bin/sleep', ...libraries].map((path) => path.slice(1));
  const archive = execFileSync('tar', ['--create', '--dereference', '--directory', '/', ...files], {
    maxBuffer: 2 ** 26,
  });
  execFileSync('docker', ['import', '-', 'sleeper'], { input: archive });
}

/** @param {string[]} args */
function docker(args) {
  return execFileSync('docker', args, { encoding: 'utf8' }).trim();
}
