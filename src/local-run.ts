/** `hasten run`: one run of a local git repository through the same machine and stations, without GitHub. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ceilingsOf } from './config/repository-ceilings.js';
import { readRepositorySettings } from './config/repository-settings.js';
import type { ServiceSettings } from './config/service-settings.js';
import type { DeliveryReader } from './domain/delivery.js';
import { storedError, UserError } from './domain/errors.js';
import type { Log } from './domain/log.js';
import type { RunRecord } from './domain/run.js';
import type { Trigger } from './domain/trigger.js';
import type { Applied } from './engine/apply-event.js';
import { Engine } from './engine/engine.js';
import { runIdOf } from './engine/run-id.js';
import { installationId, SANDBOX_IMAGE } from './installation.js';
import { LEDGER_MIGRATIONS } from './ledger/ledger-schema.js';
import { SqlLedger } from './ledger/sql-ledger.js';
import { localRepository, localTrigger, tellUncommitted } from './local-repository.js';
import { createLocalPublisher } from './publisher/local-publisher.js';
import { createDockerSandbox } from './sandbox/docker-sandbox.js';
import { createGitMirror } from './sandbox/git-mirror.js';
import { readRegistryUrl } from './sandbox/registry-url.js';
import { createModel } from './service.js';
import { createStations } from './stations.js';
import { migrate } from './store/database.js';
import { CORE_MIGRATIONS } from './store/schema.js';
import { SqlInbox } from './store/sql-inbox.js';
import { SqlModelJournal } from './store/sql-model-journal.js';
import { SqlMoney } from './store/sql-money.js';
import { openSqlite } from './store/sqlite-database.js';

const HOUR_MS = 60 * 60 * 1000;
/** For a station to let go of what it does after an interruption. */
const INTERRUPT_GRACE_MS = 4000;
const TELL_MS = 60_000;

export interface LocalRunRequest {
  /** Directory of the repository. */
  readonly directory: string;
  readonly issue: string;
  readonly settings: ServiceSettings;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface LocalRunResult {
  readonly run: RunRecord;
  /** Markdown. */
  readonly report: string;
}

/** Runs to the end. Throws UserError for what the caller has to change; a failed run is a result. */
export async function runLocally(request: LocalRunRequest): Promise<LocalRunResult> {
  const { settings, log } = request;
  const model = createModel(settings);
  const repository = await localRepository(request.directory);
  const trigger = await localTrigger(repository, request.issue);
  await tellUncommitted(repository, trigger.baseCommit, log);
  const owner = `${installationId(settings.dataDir)}-local`;
  const temporary = mkdtempSync(join(tmpdir(), 'hasten-run-'));
  const database = openSqlite(join(temporary, 'run.db'));
  const ledgerDatabase = openSqlite(join(settings.dataDir, 'local-ledger.db'));
  try {
    await migrate(database, CORE_MIGRATIONS, Date.now());
    await migrate(ledgerDatabase, LEDGER_MIGRATIONS, Date.now());
    const money = new SqlMoney(database, settings.money);
    const mirror = createGitMirror({
      dataDir: settings.dataDir,
      credentials: { tokenFor: async () => null },
    });
    const sandbox = createDockerSandbox({
      docker: {},
      imageTag: settings.sandbox.image ?? SANDBOX_IMAGE,
      runtime: settings.sandbox.runtime,
      owner,
      dataDir: settings.dataDir,
      mirror,
      registryUrl: settings.npmRegistry ?? (await readRegistryUrl(process.env)),
      now: Date.now,
      log: (line) => log.info({ sandbox: line }, line),
    });
    const health = await sandbox.check();
    if (!health.ok) throw new UserError({ code: 'SANDBOX_NOT_READY', message: health.detail });
    let report = '';
    const ceilings = ceilingsOf(settings);
    const stations = createStations({
      sandbox,
      mirror,
      money,
      journal: new SqlModelJournal(database),
      ledger: new SqlLedger(ledgerDatabase),
      model,
      publisher: createLocalPublisher({
        mirror,
        money,
        onReport: (markdown) => {
          report = markdown;
        },
        onQuestion: (lines) => log.warn({}, lines.join('\n')),
      }),
      // Nothing leaves the machine, so there is no push to ask for.
      readSettings: async (source) => ({
        ...(await readRepositorySettings({ ...source, ceilings })),
        approval: 'none',
      }),
      now: Date.now,
    });
    try {
      const ended = await drive({ database, stations, trigger, log, signal: request.signal });
      return { run: ended, report };
    } finally {
      await sandbox.discard(runIdOf(trigger.id)).catch((error: unknown) => {
        log.warn({ error: storedError(error) }, 'What the run made in Docker could not be removed.');
      });
    }
  } finally {
    await database.close();
    await ledgerDatabase.close();
    rmSync(temporary, { recursive: true, force: true });
  }
}

interface Drive {
  readonly database: ReturnType<typeof openSqlite>;
  readonly stations: ReturnType<typeof createStations>;
  readonly trigger: Trigger;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Starts an engine of its own, gives it the one trigger and waits until the machine listens again or pauses. */
async function drive({ database, stations, trigger, log, signal }: Drive): Promise<RunRecord> {
  const reader: DeliveryReader = { read: async () => ({ kind: 'trigger', trigger }) };
  let settle: (run: RunRecord) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const ended = new Promise<RunRecord>((resolveRun, rejectRun) => {
    settle = resolveRun;
    fail = rejectRun;
  });
  ended.catch(() => undefined);
  const onTransition = (applied: Applied): void => {
    if (applied.ended !== null) settle(applied.ended);
    const paused = applied.to === 'paused' ? applied.held.snapshot.context.run : null;
    // Nobody can answer a comment here, so a pause is an end that says what it would have asked.
    if (paused !== null) {
      settle({ ...paused, outcome: 'failed', outcomeReason: paused.pause?.detail ?? 'The run paused.' });
    }
  };
  const engine = new Engine({
    database,
    stations,
    reader,
    log,
    now: Date.now,
    random: Math.random,
    owner: randomUUID(),
    deadlines: { runMs: 3 * HOUR_MS, pauseMs: HOUR_MS, pauseWithWaitingMs: HOUR_MS },
    concurrency: { work: 1, tell: 2, deliveries: 1 },
    onTransition,
  });
  const bucket = { ratePerSecond: 1, burst: 1 };
  const inbox = new SqlInbox(database, { pendingPerRepository: 1, pendingTotal: 1, bucket }, () =>
    engine.wake(),
  );
  const interrupt = (): void => fail(new InterruptedError());
  if (signal.aborted) interrupt();
  signal.addEventListener('abort', interrupt, { once: true });
  await engine.start();
  try {
    await inbox.store({
      id: trigger.id,
      source: 'github',
      event: 'local',
      action: null,
      repositoryId: trigger.repository.id,
      installationId: null,
      body: '{}',
      bodyHash: trigger.id,
      receivedAt: trigger.requestedAt,
    });
    const run = await ended;
    await untilTold(database, run.id, signal);
    return run;
  } finally {
    signal.removeEventListener('abort', interrupt);
    await engine.stop(INTERRUPT_GRACE_MS);
  }
}

/** The machine listens again as soon as the report stands; lesson and clean-up come behind it. */
async function untilTold(database: Drive['database'], run: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + TELL_MS;
  const open = () =>
    database.tx((tx) =>
      tx.get("select 1 as found from effect where run_id = ? and status in ('pending', 'inflight')", [run]),
    );
  while (!signal.aborted && Date.now() < deadline && (await open()) !== undefined) await sleep(50);
}

/** The user stopped the command; what it made in Docker is removed. */
export class InterruptedError extends Error {
  constructor() {
    super('Interrupted; no branch was left.');
    this.name = 'InterruptedError';
  }
}
