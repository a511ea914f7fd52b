/** The whole stage of an end-to-end run: emulated GitHub, a model's endpoint, and the service as its own process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ChildService, startChildService } from './child-service.js';
import { type EmulatedGitHub, startEmulatedGitHub } from './emulated-github/emulated-github.js';
import { freePort } from './free-port.js';
import type { ModelScript } from './scripted-model/case-script.js';
import { type ScriptedModel, startScriptedModel } from './scripted-model/scripted-model.js';
import { throwAwayInstallation } from './throw-away.js';

const SERVICE = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface StageOptions {
  /** `owner/name` → files of the first commit. */
  readonly repositories: ReadonlyMap<string, ReadonlyMap<string, Buffer | string>>;
  /** Played by the local endpoint; null: the environment given has a real one. */
  readonly script: ModelScript | null;
  /** Milliseconds before each answer of the local endpoint. */
  readonly modelDelayMs?: number;
  /** Added to the service's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Stage {
  readonly github: EmulatedGitHub;
  /** Null with a real model. */
  readonly model: ScriptedModel | null;
  /** The process that serves now; another one after `restart`. */
  readonly service: () => ChildService;
  readonly serviceUrl: string;
  readonly dataDir: string;
  /** Starts the service again on the same data, for after a kill. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Service log entries (one JSON object a line) so far, of all processes. */
  log(): readonly LogEntry[];
  close(): Promise<void>;
}

/** One line of the service's log; what of it the stage's users read. */
export interface LogEntry {
  readonly time: number;
  readonly msg: string;
  readonly level: number;
  /** `owner/name`. */
  readonly repository?: string;
  readonly run?: string | null;
  readonly kind?: string;
  readonly progress?: string;
  readonly transition?: { readonly from: string; readonly to: string };
  readonly outcome?: string | null;
  readonly reason?: string | null;
  readonly pull?: number | null;
  readonly spentUsd?: number;
}

/** Starts everything and waits until the service answers. */
export async function startStage(options: StageOptions): Promise<Stage> {
  const github = await startEmulatedGitHub();
  const model =
    options.script === null
      ? null
      : await startScriptedModel({ script: options.script, delayMs: options.modelDelayMs ?? 0 });
  const dataDir = mkdtempSync(join(tmpdir(), 'hasten-stage-'));
  const port = await freePort();
  const serviceUrl = `http://127.0.0.1:${port}`;
  for (const [fullName, files] of options.repositories) {
    const [owner = '', name = ''] = fullName.split('/');
    await github.createRepository({ owner, name, files: Object.fromEntries(files) });
  }
  const modelEnv: Readonly<Record<string, string>> =
    model === null
      ? {}
      : { OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'scripted', HASTEN_MODEL_PRICES: '1.25,10' };
  const env = {
    PORT: String(port),
    HOST: '127.0.0.1',
    APP_ID: String(github.app.appId),
    PRIVATE_KEY: github.app.privateKey,
    WEBHOOK_SECRET: github.app.webhookSecret,
    GHE_HOST: github.host,
    GHE_PROTOCOL: 'http',
    HASTEN_DATA_DIR: dataDir,
    HASTEN_ALLOWED_ACCOUNTS: 'acme',
    HASTEN_WRITE_PAUSE_MS: '0',
    NODE_ENV: 'production',
    ...inheritedEnvironment(),
    ...modelEnv,
    ...options.env,
  };
  const processes: ChildService[] = [];
  const launch = async (more: Readonly<Record<string, string>> = {}): Promise<void> => {
    const child = await startChildService({ argv: [process.execPath, SERVICE], env: { ...env, ...more } });
    processes.push(child);
    await child.waitForHttp(`${serviceUrl}/ready`, 30_000);
  };
  const closeAll = async (): Promise<void> => {
    for (const child of processes) await child.close();
    await model?.close();
    await github.close();
    await throwAwayInstallation(dataDir);
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await launch();
  } catch (error) {
    const output = processes.flatMap((child) => child.lines()).join('\n');
    await closeAll();
    throw new Error(`The service did not start:\n${output}`, { cause: error });
  }
  github.setWebhookTarget(`${serviceUrl}/api/github/webhooks`);
  return {
    github,
    model,
    service: () => processes[processes.length - 1] as ChildService,
    serviceUrl,
    dataDir,
    restart: launch,
    log: () => processes.flatMap((child) => child.lines().flatMap(parseEntry)),
    close: closeAll,
  };
}

/** What of this process's environment the service needs to reach the engine, the registry and its image. */
export function inheritedEnvironment(): Record<string, string> {
  const names = [
    'DOCKER_HOST',
    'HASTEN_SANDBOX_IMAGE',
    'NODE_EXTRA_CA_CERTS',
    'HASTEN_NPM_REGISTRY',
    'npm_config_registry',
  ];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** A log line as an entry; nothing for lines that are no JSON objects. */
export function parseEntry(text: string): readonly LogEntry[] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'msg' in value ? [value as LogEntry] : [];
  } catch {
    return [];
  }
}
