/** What the adapter has to know of the Docker engine: its traits, its image, whether it mounts overlay volumes. */
import Docker, { type DockerOptions } from 'dockerode';
import { z } from 'zod';
import { UserError } from '../domain/errors.js';
import type { EngineTraits } from './container-settings.js';
import { engineCall } from './engine-errors.js';

export interface EngineFacts extends EngineTraits {
  readonly id: string;
  readonly version: string;
  readonly runtimes: readonly string[];
  readonly memoryBytes: number;
}

export interface Engine {
  readonly docker: Docker;
  /** Asked once per process. Throws PeerError `DOCKER_UNAVAILABLE`. */
  traits(): Promise<EngineFacts>;
  /** Id of the sandbox image. Throws UserError `SANDBOX_IMAGE_MISSING`. Remembered for ten seconds. */
  imageId(): Promise<string>;
  /** Forgets what was remembered. */
  forget(): void;
}

const Info = z.looseObject({
  ID: z.string(),
  ServerVersion: z.string(),
  NCPU: z.number(),
  MemTotal: z.number(),
  CgroupVersion: z.string().default('1'),
  Runtimes: z.record(z.string(), z.unknown()).default({}),
});
const Image = z.looseObject({ Id: z.string() });
const IMAGE_FRESH_MS = 10_000;

/** `now`: epoch milliseconds. */
export function createEngine(options: DockerOptions, imageTag: string, now: () => number): Engine {
  const docker = new Docker(options);
  let facts: Promise<EngineFacts> | null = null;
  let image: { readonly id: string; readonly at: number } | null = null;
  return {
    docker,
    traits() {
      facts ??= readFacts(docker).catch((error: unknown) => {
        facts = null;
        throw error;
      });
      return facts;
    },
    async imageId() {
      if (image !== null && now() - image.at < IMAGE_FRESH_MS) return image.id;
      const found: unknown = await engineCall('look for the sandbox image', async () => {
        try {
          return await docker.getImage(imageTag).inspect();
        } catch (error) {
          if (error instanceof Error && /no such image/i.test(error.message)) throw imageMissing(imageTag);
          throw error;
        }
      });
      image = { id: Image.parse(found).Id, at: now() };
      return image.id;
    },
    forget() {
      facts = null;
      image = null;
    },
  };
}

async function readFacts(docker: Docker): Promise<EngineFacts> {
  const info = Info.parse(await engineCall('ask it for its version', () => docker.info()));
  return {
    id: info.ID,
    version: info.ServerVersion,
    cpus: info.NCPU,
    memoryBytes: info.MemTotal,
    cgroupVersion: info.CgroupVersion === '2' ? 2 : 1,
    runtimes: Object.keys(info.Runtimes),
  };
}

function imageMissing(imageTag: string): UserError {
  return new UserError({
    code: 'SANDBOX_IMAGE_MISSING',
    message: `the sandbox image ${imageTag} does not exist in the engine; build it with \`npm run setup\``,
  });
}
