// The emulated GitHub as tests and the demo use it: start it, put repositories in, act as people, look, close.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { EmulateBackend } from './emulate-backend.js';
import { type Fault, Faults, type InjectedFault } from './faults.js';
import { Front } from './front.js';
import { EMULATE_WEBHOOK_PATH, FrontServer } from './front-server.js';
import { GitMirror } from './git-mirror.js';
import { installationWebhook } from './installation-webhook.js';
import { Journal, type JournalEntry, type JournalQuery } from './journal.js';
import { asObject, asObjects, type Json, type JsonObject, textAt } from './json.js';
import { People } from './people.js';
import { Permissions } from './permissions.js';
import { Principals } from './principals.js';
import { DEFAULT_SEED, type EmulatedGitHubSeed } from './seed.js';
import { type NewRepository, seedRepository } from './seed-repository.js';
import { type SignedWebhook, type WebhookDelivery, WebhookRelay } from './webhook-relay.js';

/** Long enough for a webhook that emulate sends after its answer to arrive. */
const QUIET_MS = 100;

export interface EmulatedGitHubOptions {
  /** 0 or left out: a free port. */
  readonly port?: number;
  /** `DEFAULT_SEED` when left out. */
  readonly seed?: EmulatedGitHubSeed;
  /** The product's webhook endpoint; may be set later with `setWebhookTarget`. */
  readonly webhookTarget?: string;
}

/** What the product needs to be this GitHub's App. */
export interface AppCredentials {
  readonly appId: number;
  readonly slug: string;
  readonly privateKey: string;
  readonly webhookSecret: string;
  readonly installationId: number;
}

export class EmulatedGitHub {
  /** `http://127.0.0.1:PORT`: REST at the root and under `/api/v3`, GraphQL, git. */
  readonly url: string;
  /** `127.0.0.1:PORT`, for `GHE_HOST` (with `GHE_PROTOCOL=http`). */
  readonly host: string;
  readonly app: AppCredentials;
  /** Acts as a seeded person through the REST API, so that webhooks fire. */
  readonly people: People;
  readonly #front: Front;
  readonly #server: FrontServer;
  readonly #folder: string;

  constructor(front: Front, server: FrontServer, folder: string) {
    this.#front = front;
    this.#server = server;
    this.#folder = folder;
    this.url = server.url;
    this.host = new URL(server.url).host;
    this.people = new People(server.url);
    const { app } = front.seed;
    this.app = {
      appId: app.id,
      slug: app.slug,
      privateKey: front.backend.privateKey,
      webhookSecret: app.webhookSecret,
      installationId: app.installations[0]?.id ?? 0,
    };
  }

  /** Makes a repository with files, branch and collaborators; gives the SHA of its commit. No webhooks fire. */
  async createRepository(repository: NewRepository): Promise<string> {
    return seedRepository(this.#front, repository);
  }

  /** Changes where webhooks go; undefined stops them. */
  setWebhookTarget(url: string | undefined): void {
    this.#front.relay.target = url;
  }

  /** Waits until no webhook is under way and none is about to start. */
  whenWebhooksSettled(): Promise<void> {
    return this.#front.relay.whenSettled(QUIET_MS);
  }

  /** Webhooks sent so far, oldest first. */
  deliveries(): readonly WebhookDelivery[] {
    return this.#front.relay.deliveries();
  }

  /**
   * Sends a recorded delivery again, `times` times with `delayMs` before each; `changedGuid` gives each copy a
   * new delivery id. Gives the receiver's statuses.
   */
  async replayDelivery(
    guid: string,
    options: { times?: number; delayMs?: number; changedGuid?: boolean } = {},
  ): Promise<number[]> {
    const delivery = this.deliveries().find((entry) => entry.guid === guid);
    if (delivery === undefined) throw new Error(`no delivery ${guid} was recorded`);
    const statuses: number[] = [];
    for (let time = 0; time < (options.times ?? 1); time += 1) {
      if (options.delayMs !== undefined) await pause(options.delayMs);
      const { event, payload } = delivery;
      const sentGuid = options.changedGuid === true ? randomUUID() : guid;
      statuses.push((await this.#front.relay.send({ event, payload, guid: sentGuid })).status);
    }
    return statuses;
  }

  /** Posts any webhook to the product: signed, signed with a wrong `secret`, or unsigned with `secret: null`. */
  deliverSigned(webhook: SignedWebhook): Promise<{ status: number; body: string }> {
    return this.#front.relay.send(webhook);
  }

  /** Sends `installation` or `installation_repositories` for the App, made from GitHub's published example. */
  async announceInstallation(
    event: 'installation' | 'installation_repositories',
    action: string,
  ): Promise<number> {
    const payload = await installationWebhook(this.#front, event, action);
    return (await this.#front.relay.deliver(event, payload, randomUUID(), false)).statusCode;
  }

  /** Requests that reached this GitHub, with their answers. */
  requests(query: JournalQuery = {}): JournalEntry[] {
    return this.#front.journal.find(query);
  }

  /** How many requests match. */
  count(query: JournalQuery = {}): number {
    return this.requests(query).length;
  }

  /** Forgets the requests so far. */
  clearRequests(): void {
    this.#front.journal.clear();
  }

  /** Arms a fault for the next requests that match. */
  injectFault(fault: Fault): InjectedFault {
    return this.#front.faults.inject(fault);
  }

  clearFaults(): void {
    this.#front.faults.clear();
  }

  /** Makes every installation token unknown, as if all had expired. */
  revokeInstallationTokens(): void {
    this.#front.principals.revokeInstallationTokens();
  }

  /** Reads any path with full rights, past journal and faults; rejects for a status of 400 and more. */
  async read(path: string): Promise<Json> {
    const { status, json } = await this.#front.ask('GET', path);
    if (status >= 400) throw new Error(`GET ${path}: ${status}`);
    return json ?? null;
  }

  /** Comments of an issue or pull request, oldest first. */
  async comments(fullName: string, number: number): Promise<JsonObject[]> {
    return this.#front.askAll(`/repos/${fullName}/issues/${number}/comments`);
  }

  /** Pull requests in every state, newest first. */
  async pulls(fullName: string): Promise<JsonObject[]> {
    return this.#front.askAll(`/repos/${fullName}/pulls?state=all`);
  }

  /** Issues in every state without pull requests, newest first. */
  async issues(fullName: string): Promise<JsonObject[]> {
    return this.#front.askAll(`/repos/${fullName}/issues?state=all`);
  }

  /** Branch names and their commits. */
  async branches(fullName: string): Promise<Map<string, string>> {
    const refs = asObjects(await this.read(`/repos/${fullName}/git/matching-refs/heads`));
    return new Map(refs.map((ref) => [textAt(ref, 'ref').slice(11), textAt(ref, 'object', 'sha')]));
  }

  /** Check runs of a commit or branch. */
  async checkRuns(fullName: string, ref: string): Promise<JsonObject[]> {
    return asObjects(
      asObject(await this.read(`/repos/${fullName}/commits/${ref}/check-runs?filter=all&per_page=100`))
        .check_runs,
    );
  }

  /** Contents of the reactions to an issue or comment, such as `eyes`; `subject` is `issues/1` or `issues/comments/5`. */
  reactions(fullName: string, subject: string): string[] {
    const path = `/repos/${fullName}/${subject}`;
    return this.#front.reactions.filter((entry) => entry.subject === path).map((entry) => entry.content);
  }

  /** The text of a file on a branch or commit. */
  async file(fullName: string, path: string, ref: string): Promise<string> {
    const content = await this.read(`/repos/${fullName}/contents/${encodeURI(path)}?ref=${ref}`);
    return Buffer.from(textAt(content, 'content'), 'base64').toString('utf8');
  }

  /** The diff of a pull request as git gives it. */
  async diff(fullName: string, base: string, head: string): Promise<string> {
    const { mirror } = this.#front;
    const bytes = await mirror.exclusively(fullName, async () => {
      await mirror.pull(fullName);
      return mirror.git(fullName, ['diff', '--no-ext-diff', `${base}...${head}`]);
    });
    return bytes.toString('utf8');
  }

  /** Address for git with a token in it. */
  cloneUrl(fullName: string, token?: string): string {
    const credentials = token === undefined ? '' : `x-access-token:${token}@`;
    return `http://${credentials}${this.host}/${fullName}.git`;
  }

  /** Stops everything and removes the bare repositories. */
  async close(): Promise<void> {
    this.#front.relay.close();
    await this.#server.close();
    await this.#front.backend.close();
    removeFolder(this.#folder);
  }
}

const openFolders = new Set<string>();

// A process that ends without `close()` must not leave its repositories behind.
process.on('exit', () => {
  for (const folder of openFolders) removeFolder(folder);
});

function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  openFolders.delete(folder);
}

/** Starts an emulated GitHub on 127.0.0.1; ready when the promise resolves (about 0.5 s). */
export async function startEmulatedGitHub(options: EmulatedGitHubOptions = {}): Promise<EmulatedGitHub> {
  const seed = options.seed ?? DEFAULT_SEED;
  const server = await FrontServer.listen(options.port ?? 0);
  const folder = mkdtempSync(join(tmpdir(), 'hasten-rig-git-'));
  openFolders.add(folder);
  try {
    const { url } = server;
    const backend = await EmulateBackend.start(seed, url, `${url}${EMULATE_WEBHOOK_PATH}`);
    const permissions = new Permissions(seed);
    const front = new Front({
      url,
      seed,
      backend,
      permissions,
      principals: new Principals(seed),
      journal: new Journal(),
      faults: new Faults(),
      mirror: new GitMirror(folder, backend, permissions),
      relay: new WebhookRelay(seed.app.webhookSecret, seed.app.id, options.webhookTarget),
    });
    server.serve(front);
    return new EmulatedGitHub(front, server, folder);
  } catch (error) {
    await server.close();
    removeFolder(folder);
    throw error;
  }
}
