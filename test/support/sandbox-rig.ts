/** A real Docker sandbox for tests, with an owner label of its own; closing it checks that nothing was left behind. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import type { SourceMirror } from '../../src/domain/repository.js';
import {
  createDockerSandbox,
  type DockerSandbox,
  type DockerSandboxOptions,
} from '../../src/sandbox/docker-sandbox.js';
import { createGitMirror } from '../../src/sandbox/git-mirror.js';

export const SANDBOX_IMAGE = process.env.HASTEN_SANDBOX_IMAGE ?? 'hasten-sandbox:latest';

export interface SandboxRig {
  readonly sandbox: DockerSandbox;
  readonly mirror: SourceMirror;
  readonly docker: Docker;
  readonly owner: string;
  readonly dataDir: string;
  /** Another sandbox of the same installation, as after a restart. */
  restart(options?: Partial<DockerSandboxOptions>): DockerSandbox;
  /** Names of containers and volumes that carry the owner's label. */
  leftovers(): Promise<{ readonly containers: readonly string[]; readonly volumes: readonly string[] }>;
  close(): Promise<void>;
}

export function createSandboxRig(options: Partial<DockerSandboxOptions> = {}): SandboxRig {
  const owner = `test-${randomUUID()}`;
  const dataDir = mkdtempSync(join(tmpdir(), 'hasten-test-'));
  const mirror = createGitMirror({ dataDir, credentials: { tokenFor: async () => null } });
  const docker = new Docker();
  const create = (more: Partial<DockerSandboxOptions> = {}) =>
    createDockerSandbox({
      docker: {},
      imageTag: SANDBOX_IMAGE,
      runtime: 'runc',
      owner,
      dataDir,
      mirror,
      registryUrl: 'http://127.0.0.1:9/',
      now: Date.now,
      log: () => {},
      ...options,
      ...more,
    });
  const filters = { label: [`hasten.owner=${owner}`] };
  const leftovers = async () => {
    const containers = await docker.listContainers({ all: true, filters });
    const { Volumes } = await docker.listVolumes({ filters });
    return {
      containers: containers.map(({ Names }) => Names.join()),
      volumes: (Volumes ?? []).map(({ Name }) => Name),
    };
  };
  return {
    sandbox: create(),
    mirror,
    docker,
    owner,
    dataDir,
    restart: create,
    leftovers,
    async close() {
      const { containers } = await leftovers();
      await create().purge();
      rmSync(dataDir, { recursive: true, force: true });
      if (containers.length > 0) throw new Error(`containers were left behind: ${containers.join(', ')}`);
    },
  };
}
