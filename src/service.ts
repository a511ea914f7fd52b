/** The whole service put together: database, engine, stations and ingress, started in the order that loses nothing. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ceilingsOf } from './config/repository-ceilings.js';
import { readRepositorySettings } from './config/repository-settings.js';
import type { ServiceSettings } from './config/service-settings.js';
import { storedError } from './domain/errors.js';
import type { Sandbox } from './domain/sandbox.js';
import { Engine } from './engine/engine.js';
import { createGithubAccess, type GithubAccess } from './ingress/github-access.js';
import { GithubDeliveryReader } from './ingress/github-delivery-reader.js';
import type { HealthPart, HealthReport } from './ingress/health-handler.js';
import { startIngress } from './ingress/ingress-server.js';
import { installationId, SANDBOX_IMAGE } from './installation.js';
import { LEDGER_MIGRATIONS } from './ledger/ledger-schema.js';
import { SqlLedger } from './ledger/sql-ledger.js';
import { type ChatModel, createOpenAiModel } from './planner/openai-planner.js';
import { createGithubPublisher } from './publisher/github-publisher.js';
import { createGithubClients } from './publisher/octokit-clients.js';
import { createDockerSandbox } from './sandbox/docker-sandbox.js';
import { createGitMirror } from './sandbox/git-mirror.js';
import { readRegistryUrl } from './sandbox/registry-url.js';
import { createStations } from './stations.js';
import { type Database, migrate } from './store/database.js';
import { CORE_MIGRATIONS } from './store/schema.js';
import { takeServiceLock } from './store/service-lock.js';
import { SqlInbox } from './store/sql-inbox.js';
import { SqlModelJournal } from './store/sql-model-journal.js';
import { SqlMoney } from './store/sql-money.js';
import { openSqlite } from './store/sqlite-database.js';

const HOUR_MS = 60 * 60 * 1000;
const DEADLINES = { runMs: 3 * HOUR_MS, pauseMs: 7 * 24 * HOUR_MS, pauseWithWaitingMs: 24 * HOUR_MS };
const CONCURRENCY = { work: 2, tell: 4, deliveries: 4 };
const MODEL_TIMEOUT_MS = 10 * 60 * 1000;
const SANDBOX_CHECK_MS = 5000;

export interface Service {
  readonly mode: 'service' | 'setup';
  readonly host: string;
  readonly port: number;
  /** Takes no new work, parks what runs, closes everything within the grace period of the settings. */
  stop(): Promise<void>;
}

/** Starts the service. Throws UserError when a setting, the data folder or the model's price stands against it. */
export async function startService(settings: ServiceSettings, log: Logger): Promise<Service> {
  for (const notice of settings.notices) log.warn(notice);
  const model = createModel(settings);
  const owner = installationId(settings.dataDir);
  const lock = takeServiceLock(join(settings.dataDir, 'service.lock'));
  const database = openSqlite(join(settings.dataDir, 'hasten.db'));
  await migrate(database, [...CORE_MIGRATIONS, ...LEDGER_MIGRATIONS], Date.now());
  if (settings.app === null) return startSetup(settings, database, log, lock.release);

  const access = createGithubAccess({ app: settings.app, github: settings.github, log });
  const registryUrl = settings.npmRegistry ?? (await readRegistryUrl(process.env));
  const parts = createParts(settings, { database, access, model, owner, log, registryUrl });
  const engine = new Engine({
    database,
    stations: createStations(parts),
    reader: new GithubDeliveryReader({ access, ...settings }),
    log,
    now: Date.now,
    random: Math.random,
    owner: randomUUID(),
    deadlines: DEADLINES,
    concurrency: CONCURRENCY,
  });
  const inbox = new SqlInbox(database, settings.inbox, () => engine.wake());
  const { sandbox } = parts;
  const health = () => checkHealth(database, access, sandbox, settings);
  await reapLeftovers(database, sandbox, log);
  await engine.start();
  const ingress = await startIngress({ settings, inbox, health, log });
  log.info({ host: ingress.host, port: ingress.port }, `Hasten listens on ${ingress.host}:${ingress.port}`);
  return {
    mode: ingress.mode,
    host: ingress.host,
    port: ingress.port,
    async stop() {
      // Both at once, so that the grace period holds for the two together; what is stored meanwhile waits for the next start.
      await Promise.all([ingress.stop(settings.graceMs / 2), engine.stop(settings.graceMs)]);
      await database.close();
      lock.release();
    },
  };
}

async function startSetup(
  settings: ServiceSettings,
  database: Database,
  log: Logger,
  release: () => void,
): Promise<Service> {
  const inbox = new SqlInbox(database, settings.inbox, () => undefined);
  const missing: HealthPart = { ok: false, detail: 'The App is not registered yet; open the set-up page.' };
  const health = async (): Promise<HealthReport> => ({
    status: 'degraded',
    docker: missing,
    model: missing,
    github: missing,
    pending: 0,
  });
  const ingress = await startIngress({ settings, inbox, health, log });
  log.info(`No App yet: open http://${ingress.host}:${ingress.port}/ on this machine to register it.`);
  return {
    mode: ingress.mode,
    host: ingress.host,
    port: ingress.port,
    async stop() {
      await ingress.stop(settings.graceMs);
      await database.close();
      release();
    },
  };
}

/** The model that the settings name. Throws UserError `MODEL_PRICE_UNKNOWN`. */
export function createModel(settings: Pick<ServiceSettings, 'model'>): ChatModel {
  const { model } = settings;
  return createOpenAiModel({
    baseUrl: model.baseUrl,
    apiKey: model.apiKey ?? 'none',
    model: model.name,
    price: model.prices,
    maxOutputTokens: model.maxOutputTokens,
    callTimeoutMs: MODEL_TIMEOUT_MS,
    retries: 4,
    maxRetryWaitMs: 60_000,
    outputLimitField: model.baseUrl === null ? 'max_completion_tokens' : 'max_tokens',
    random: Math.random,
  });
}

interface Foundation {
  readonly database: Database;
  readonly access: GithubAccess;
  readonly model: ChatModel;
  readonly owner: string;
  readonly log: Logger;
  readonly registryUrl: string;
}

function createParts(
  settings: ServiceSettings,
  foundation: Foundation,
): Parameters<typeof createStations>[0] {
  const { database, access, model, owner, log } = foundation;
  const mirror = createGitMirror({ dataDir: settings.dataDir, credentials: access });
  const sandbox = createDockerSandbox({
    docker: {},
    imageTag: settings.sandbox.image ?? SANDBOX_IMAGE,
    runtime: settings.sandbox.runtime,
    owner,
    dataDir: settings.dataDir,
    mirror,
    registryUrl: foundation.registryUrl,
    now: Date.now,
    log: (line) => log.info({ sandbox: line }, line),
  });
  const money = new SqlMoney(database, settings.money);
  const clients = createGithubClients({
    tokens: access,
    apiUrl: settings.github.apiUrl,
    writePauseMs: settings.pace.writePauseMs,
  });
  const ceilings = ceilingsOf(settings);
  return {
    sandbox,
    mirror,
    money,
    journal: new SqlModelJournal(database),
    ledger: new SqlLedger(database),
    model,
    publisher: createGithubPublisher({ clients, mirror, money, pace: settings.pace }),
    readSettings: (source) => readRepositorySettings({ ...source, ceilings }),
    now: Date.now,
  };
}

async function reapLeftovers(database: Database, sandbox: Sandbox, log: Logger): Promise<void> {
  const active = await database.tx((tx) =>
    tx.all<{ run_id: string }>("select run_id from run where status = 'active'"),
  );
  const health = await checkSandbox(sandbox);
  if (!health.ok) return log.warn(`The sandbox is not ready, and runs wait: ${health.detail}.`);
  try {
    const removed = await sandbox.reap(active.map((row) => row.run_id));
    if (removed > 0) log.info({ removed }, `Removed ${removed} leftovers of an earlier process.`);
  } catch (error) {
    log.warn({ error: storedError(error) }, 'Leftovers of an earlier process could not be removed.');
  }
}

/** An engine that takes the question and never answers must hold up neither the start nor `/health`. */
async function checkSandbox(sandbox: Pick<Sandbox, 'check'>): Promise<HealthPart> {
  const late = new AbortController();
  const mute = sleep(SANDBOX_CHECK_MS, null, { signal: late.signal }).catch(() => null);
  const health = await Promise.race([sandbox.check(), mute]);
  late.abort();
  if (health !== null) return { ok: health.ok, detail: health.detail };
  const detail = `the Docker engine does not answer within ${SANDBOX_CHECK_MS / 1000} s; see whether it hangs`;
  return { ok: false, detail };
}

async function checkHealth(
  database: Database,
  access: GithubAccess,
  sandbox: Sandbox,
  settings: ServiceSettings,
): Promise<HealthReport> {
  const docker = await checkSandbox(sandbox);
  const github = await access.whoAmI(AbortSignal.timeout(5000)).then(
    (identity): HealthPart => ({ ok: true, detail: `The App is ${identity.slug}.` }),
    (error: unknown): HealthPart => ({
      ok: false,
      detail: error instanceof Error ? error.message : 'GitHub does not answer.',
    }),
  );
  const hasModel = settings.model.apiKey !== null || settings.model.baseUrl !== null;
  const row = await database.tx((tx) =>
    tx.get<{ pending: number }>("select count(*) as pending from delivery where status = 'new'"),
  );
  return {
    status: docker.ok && github.ok && hasModel ? 'ok' : 'degraded',
    docker,
    model: hasModel
      ? { ok: true, detail: `${settings.model.name} is set.` }
      : { ok: false, detail: 'Set OPENAI_API_KEY or OPENAI_BASE_URL.' },
    github,
    pending: row?.pending ?? 0,
  };
}
