// Runs the `emulate` GitHub service inside this process and sends requests to it; only the front talks to it.
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { createEmulator, type Emulator } from 'emulate';
import { freePort } from '../free-port.js';
import { type Json, parseJson } from './json.js';
import { type EmulatedGitHubSeed, tokenOf } from './seed.js';

export interface BackendRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly token?: string | undefined;
  readonly accept?: string | undefined;
  readonly body?: Json | undefined;
}

export interface BackendAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** The body parsed, where it is JSON. */
  readonly json: Json | undefined;
}

// emulate counts 5000 calls an hour for each token; the rig's own calls are spread so that no test meets that.
const INTERNAL_TOKENS_PER_PERSON = 20;

export class EmulateBackend {
  /** The App's RSA key in PEM form, made by emulate at start. */
  readonly privateKey: string;
  readonly #emulator: Emulator;
  readonly #port: number;
  readonly #publicHost: string;
  readonly #agent = new Agent({ keepAlive: true });
  #turn = 0;

  private constructor(emulator: Emulator, port: number, publicHost: string) {
    this.#emulator = emulator;
    this.#port = port;
    this.#publicHost = publicHost;
    const secret = emulator.generatedSecrets.find((entry) => entry.kind === 'github.app_private_key');
    if (secret === undefined) throw new Error('emulate made no App key');
    this.privateKey = secret.value;
  }

  /**
   * Starts emulate on a free port. `publicUrl` is the front's address, which emulate writes into its answers;
   * its webhooks go to `webhookUrl`.
   */
  static async start(
    seed: EmulatedGitHubSeed,
    publicUrl: string,
    webhookUrl: string,
  ): Promise<EmulateBackend> {
    for (let tries = 0; ; tries += 1) {
      const port = await freePort();
      try {
        const emulator = await createEmulator({
          service: 'github',
          port,
          hostname: '127.0.0.1',
          baseUrl: publicUrl,
          seed: emulateSeed(seed, webhookUrl),
        });
        return new EmulateBackend(emulator, port, new URL(publicUrl).host);
      } catch (error) {
        if (tries >= 3) throw error;
      }
    }
  }

  /** A token of this person that only the rig uses. */
  internalToken(login: string): string {
    this.#turn = (this.#turn + 1) % INTERNAL_TOKENS_PER_PERSON;
    return internalToken(login, this.#turn);
  }

  /** One request to emulate. Rejects when emulate does not answer. */
  call(options: BackendRequest): Promise<BackendAnswer> {
    const { method, path, token, accept } = options;
    const payload = options.body === undefined ? undefined : JSON.stringify(options.body);
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port: this.#port,
          agent: this.#agent,
          method,
          path,
          headers: {
            host: this.#publicHost,
            accept: accept ?? 'application/json',
            ...(token === undefined ? {} : { authorization: `token ${token}` }),
            ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
            'content-length': Buffer.byteLength(payload ?? ''),
          },
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => {
            const bytes = Buffer.concat(chunks);
            const isJson = (incoming.headers['content-type'] ?? '').includes('json');
            const json = isJson ? parseJson(bytes.toString('utf8')) : undefined;
            resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, bytes, json });
          });
        },
      );
      outgoing.on('error', (error) => {
        // emulate has closed an idle connection just when it was taken again: it has not seen the request.
        if (outgoing.reusedSocket && 'code' in error && error.code === 'ECONNRESET') {
          this.call(options).then(resolve, reject);
        } else reject(error);
      });
      outgoing.end(payload);
    });
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await this.#emulator.close();
  }
}

function internalToken(login: string, turn: number): string {
  return `rig-internal-${login}-${turn}`;
}

function emulateSeed(seed: EmulatedGitHubSeed, webhookUrl: string) {
  const tokens: Record<string, { login: string; scopes: string[] }> = {};
  for (const login of seed.users) {
    const scopes = ['repo', 'user', 'admin:org', 'admin:repo_hook'];
    tokens[tokenOf(login)] = { login, scopes };
    for (let turn = 0; turn < INTERNAL_TOKENS_PER_PERSON; turn += 1) {
      tokens[internalToken(login, turn)] = { login, scopes };
    }
  }
  const { app } = seed;
  return {
    tokens,
    github: {
      users: seed.users.map((login) => ({ login, name: login, email: `${login}@example.test` })),
      orgs: seed.organizations.map((organization) => ({
        login: organization.login,
        name: organization.login,
        members: [
          ...organization.admins.map((login) => ({ login, role: 'admin' })),
          ...(organization.members ?? []).map((login) => ({ login, role: 'member' })),
        ],
      })),
      repos: [],
      apps: [
        {
          app_id: app.id,
          slug: app.slug,
          name: app.name,
          permissions: app.permissions,
          events: app.events,
          webhook_url: webhookUrl,
          webhook_secret: app.webhookSecret,
          installations: app.installations.map((installation) => ({
            installation_id: installation.id,
            account: installation.account,
            repository_selection: 'all',
          })),
        },
      ],
    },
  };
}
