/** The yardstick: commands of a run, one after another in one container that is already there. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Docker from 'dockerode';
import { pack } from 'tar-stream';
import type { CommandResult, MeasurementArm } from '../../src/domain/sandbox.js';
import { DEFAULT_PROTOCOL, harnessRequest } from '../../src/evaluator/harness-protocol.js';
import { createAdmission } from '../../src/sandbox/admission.js';
import { containerSettings, DEFAULT_LIMITS, volumeMount } from '../../src/sandbox/container-settings.js';
import { removeContainer } from '../../src/sandbox/container-watch.js';
import { createMeasurementArm, IDLE_ARGV } from '../../src/sandbox/measurement-arm.js';
import { createRegistryMirror, EGRESS_MOUNT } from '../../src/sandbox/registry-mirror.js';
import type { CommandKind, SeenCommand } from './observed-run.js';

export interface BareContainerOptions {
  readonly image: string;
  readonly registryUrl: string;
  /** Keeps tarballs from one container to the next, as the service's own folder does from run to run. */
  readonly dataDir: string;
  /** Docker cpuset of the measured processes. */
  readonly cpuset: string;
  /** Workspace → its files. */
  readonly places: ReadonlyMap<string, ReadonlyMap<string, Buffer>>;
  readonly benchmark: { readonly path: string; readonly entry: string };
}

export type KindSeconds = Readonly<Record<CommandKind, number>>;

export interface Playing {
  /** From the first command to the end of the last. */
  readonly seconds: number;
  readonly secondsByKind: KindSeconds;
}

const SECCOMP = new URL('../../sandbox/seccomp.json', import.meta.url);
const TIMEOUT_MS = 600_000;

/**
 * Makes the container (hardened as the sandbox's, two CPUs, the installer's memory and registry socket), lays the files
 * out, then plays the commands and takes the time. Only the workspace with the installation is installed; the others see
 * its `node_modules` through a link, as the run's share a layer. Pinned commands run under `taskset`. Throws when a
 * command fails that succeeded in the run, or `signal` aborts; nothing is left then.
 */
export async function playInBareContainer(
  options: BareContainerOptions,
  commands: readonly SeenCommand[],
  signal: AbortSignal,
): Promise<Playing> {
  const docker = new Docker();
  const name = `hasten-bench-${randomUUID().slice(0, 8)}`;
  const mirror = createRegistryMirror({ registryUrl: options.registryUrl, dataDir: options.dataDir });
  const egress = await mirror.open(null);
  await docker.createVolume({ Name: name });
  try {
    const container = await docker.createContainer({
      ...containerSettings(
        {
          name,
          image: options.image,
          runtime: 'runc',
          seccomp: await readFile(SECCOMP, 'utf8'),
          labels: {},
          argv: IDLE_ARGV,
          env: {},
          mounts: [
            volumeMount(name, '/ws', { copyImage: true }),
            { Type: 'bind', Source: egress.directory, Target: EGRESS_MOUNT, ReadOnly: true },
          ],
          memoryBytes: DEFAULT_LIMITS.installMemoryBytes,
          cpuset: null,
          stdin: false,
        },
        DEFAULT_LIMITS,
        { cgroupVersion: await cgroupVersion(docker), cpus: 2 },
      ),
    });
    try {
      await container.start();
      await layOut(container, options.places);
      const admission = createAdmission(1);
      const arm = await createMeasurementArm({
        docker,
        container,
        limits: DEFAULT_LIMITS,
        admission,
        signal,
      });
      return await play(arm, options, commands);
    } finally {
      await removeContainer(container);
    }
  } finally {
    await docker.getVolume(name).remove();
    await egress.close();
  }
}

async function play(
  arm: MeasurementArm,
  options: BareContainerOptions,
  commands: readonly SeenCommand[],
): Promise<Playing> {
  const spent = { install: 0, build: 0, test: 0, measure: 0 };
  const stdins = measurementRequests(commands, options.benchmark);
  const started = performance.now();
  for (const command of commands) {
    const before = performance.now();
    const stdin = stdins.get(command);
    const result = await arm.exec(argvOf(command, options.cpuset), {
      timeoutMs: TIMEOUT_MS,
      ...(stdin === undefined ? {} : { stdin }),
    });
    spent[command.kind] += (performance.now() - before) / 1000;
    expectDone(command, result);
  }
  return { seconds: (performance.now() - started) / 1000, secondsByKind: spent };
}

function placeOf(command: SeenCommand): string {
  return command.kind === 'install' ? 'base' : command.place;
}

function argvOf(command: SeenCommand, cpuset: string): readonly string[] {
  const env = command.env.map((one) => one.replaceAll('/cache/bot', '/ws/.cache'));
  const pinned = command.isPinned ? ['taskset', '--cpu-list', cpuset] : [];
  return ['env', `--chdir=/ws/${placeOf(command)}`, ...env, ...pinned, ...command.argv];
}

/**
 * What the harness is asked: the order of asking is the evaluator's. Trying a benchmark asks for two checksums and one
 * observation; an evaluation asks for three checksums first, and then for observations only.
 */
function measurementRequests(
  commands: readonly SeenCommand[],
  benchmark: BareContainerOptions['benchmark'],
): ReadonlyMap<SeenCommand, string> {
  const measured = commands.filter((command) => command.kind === 'measure');
  const trial = measured.filter((command) => !command.isPinned);
  const pinned = measured.filter((command) => command.isPinned);
  const checksums = new Set([...trial.slice(0, 2), ...pinned.slice(0, 3)]);
  return new Map(
    measured.map((command) => {
      const workload = checksums.has(command) ? null : 'run';
      const request = harnessRequest(benchmark, workload, randomUUID(), DEFAULT_PROTOCOL);
      return [command, request.replaceAll('"/ws/', `"/ws/${placeOf(command)}/`)];
    }),
  );
}

function expectDone(command: SeenCommand, result: CommandResult): void {
  const isAnswer = command.kind !== 'measure' || result.stdout.text.includes('"ok":true');
  if (result.outcome === 'exited' && result.exitCode === 0 && isAnswer) return;
  const said = `${result.stdout.text}\n${result.stderr.text}`.trim().slice(-2000);
  throw new Error(`${command.argv.join(' ')} in ${command.place} ended with ${result.exitCode}:\n${said}`);
}

async function layOut(container: Docker.Container, places: BareContainerOptions['places']): Promise<void> {
  const archive = pack();
  const owner = { uid: 10001, gid: 10001 };
  for (const [place, files] of places) {
    archive.entry({ ...owner, name: `${place}/`, type: 'directory', mode: 0o755 });
    const folders = new Set([...files.keys()].flatMap(parentsOf));
    for (const folder of [...folders].sort())
      archive.entry({ ...owner, name: `${place}/${folder}/`, type: 'directory', mode: 0o755 });
    for (const [path, content] of files) archive.entry({ ...owner, name: join(place, path) }, content);
    if (place !== 'base') {
      const linkname = '../base/node_modules';
      archive.entry({ ...owner, name: `${place}/node_modules`, type: 'symlink', linkname });
    }
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  await container.putArchive(Buffer.concat(chunks), { path: '/ws' });
}

function parentsOf(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

async function cgroupVersion(docker: Docker): Promise<1 | 2> {
  const facts: unknown = await docker.info();
  const isTwo =
    typeof facts === 'object' && facts !== null && 'CgroupVersion' in facts && facts.CgroupVersion === '2';
  return isTwo ? 2 : 1;
}
