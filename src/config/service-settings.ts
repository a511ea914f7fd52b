/** The operator's settings: everything that the service takes from its environment, validated before anything starts. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { MoneyLimits } from '../domain/money.js';
import { type AlertSource, parseAlertSources } from './alert-sources.js';
import { appSettings, type GithubAppSettings, type ReadFile } from './github-app-settings.js';
import type { ModelPrices } from './model-prices.js';
import { isSettingKey, type LogLevel, type SettingValues, settingsSchema } from './setting-keys.js';
import { SettingProblems } from './setting-problems.js';

/** Where GitHub is: github.com, or the server of GHE_HOST. No slash at the end. */
export interface GithubHost {
  readonly webUrl: string;
  readonly apiUrl: string;
}

export interface ServiceSettings {
  /** Null: not registered yet, the set-up page is shown. */
  readonly app: GithubAppSettings | null;
  readonly github: GithubHost;
  readonly server: {
    readonly host: string;
    readonly port: number;
    /** Address under which GitHub reaches this service; only the set-up page needs it. */
    readonly publicUrl: string | null;
    readonly maxBodyBytes: number;
  };
  readonly logLevel: LogLevel;
  /** Absolute path. */
  readonly dataDir: string;
  /** Logins in lower case; empty: nobody is served. */
  readonly allowedAccounts: readonly string[];
  readonly model: {
    /** A secret; null where the endpoint needs none. */
    readonly apiKey: string | null;
    /** Null: the provider's own address. */
    readonly baseUrl: string | null;
    readonly name: string;
    /** Null: the kept price list decides. */
    readonly prices: ModelPrices | null;
    readonly maxOutputTokens: number;
  };
  readonly money: MoneyLimits;
  /** Most attempts per run. */
  readonly attempts: number;
  readonly alertSources: readonly AlertSource[];
  readonly sandbox: {
    readonly runtime: string;
    /** Null: the image that belongs to this version. */
    readonly image: string | null;
  };
  readonly inbox: {
    readonly pendingPerRepository: number;
    readonly pendingTotal: number;
    readonly bucket: { readonly ratePerSecond: number; readonly burst: number };
  };
  readonly graceMs: number;
  readonly pace: {
    readonly pullsPerHour: number;
    readonly pullsOpen: number;
    /** Milliseconds between two writes to GitHub per installation. */
    readonly writePauseMs: number;
  };
  /** Null: the one that npm on this machine is configured for. */
  readonly npmRegistry: string | null;
  /** Sentences for the log at start: what is off, unknown or unusual. */
  readonly notices: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads and validates all settings; `readFile` gives a file's text. Paths start at `directory` (absolute).
 * Throws UserError `SETTINGS_INVALID` that lists every problem with key, value (secrets hidden) and what is allowed.
 */
export function readServiceSettings(
  environment: Environment,
  directory: string,
  readFile: (path: string) => string = (path) => readFileSync(path, 'utf8'),
): ServiceSettings {
  const set = Object.fromEntries(
    Object.entries(environment).flatMap(([key, value]) =>
      value === undefined || value.trim() === '' ? [] : [[key, value.trim()]],
    ),
  );
  const problems = new SettingProblems(set);
  const result = settingsSchema.safeParse(set);
  if (!result.success) {
    for (const issue of result.error.issues) problems.add(String(issue.path[0]), issue.message);
    throw problems.error();
  }
  const read = (key: string, path: string): string | null =>
    readOrReport(key, resolve(directory, path), readFile, problems);
  const app = appSettings(result.data, read, problems);
  const alertSources = sources(result.data, read, problems);
  if (problems.found) throw problems.error();
  return assemble(result.data, { app, alertSources, directory, set });
}

/**
 * The environment with what the text of a `.env` file adds; what is set already wins.
 * Probot's set-up page writes such a file into the working directory.
 */
export function withEnvFile(environment: Environment, envFileText: string): Environment {
  return { ...parseEnv(envFileText), ...environment };
}

function readOrReport(
  key: string,
  path: string,
  readFile: (path: string) => string,
  problems: SettingProblems,
): string | null {
  try {
    return readFile(path);
  } catch {
    problems.add(key, 'the path of a file that can be read');
    return null;
  }
}

function sources(values: SettingValues, read: ReadFile, problems: SettingProblems): readonly AlertSource[] {
  const { HASTEN_ALERT_SOURCES: text, HASTEN_ALERT_SOURCES_FILE: path } = values;
  if (text !== undefined && path !== undefined) {
    problems.add('HASTEN_ALERT_SOURCES_FILE', 'nothing while HASTEN_ALERT_SOURCES is set');
    return [];
  }
  const key = text === undefined ? 'HASTEN_ALERT_SOURCES_FILE' : 'HASTEN_ALERT_SOURCES';
  const json = text ?? (path === undefined ? null : read(key, path));
  if (json === null) return [];
  const parsed = parseAlertSources(json);
  if (parsed.problems === null) return parsed.sources;
  for (const problem of parsed.problems) problems.add(key, problem.allowed, problem.path);
  return [];
}

function githubHost(values: SettingValues): GithubHost {
  if (values.GHE_HOST === undefined)
    return { webUrl: 'https://github.com', apiUrl: 'https://api.github.com' };
  const webUrl = `${values.GHE_PROTOCOL}://${values.GHE_HOST}`;
  return { webUrl, apiUrl: `${webUrl}/api/v3` };
}

interface Found {
  readonly app: GithubAppSettings | null;
  readonly alertSources: readonly AlertSource[];
  readonly directory: string;
  readonly set: Readonly<Record<string, string>>;
}

function assemble(values: SettingValues, found: Found): ServiceSettings {
  return {
    app: found.app,
    github: githubHost(values),
    server: {
      host: values.HOST,
      port: values.PORT,
      publicUrl: values.HASTEN_PUBLIC_URL ?? null,
      maxBodyBytes: values.HASTEN_MAX_BODY_BYTES,
    },
    logLevel: values.LOG_LEVEL,
    dataDir: resolve(found.directory, values.HASTEN_DATA_DIR),
    allowedAccounts: values.HASTEN_ALLOWED_ACCOUNTS,
    model: {
      apiKey: values.OPENAI_API_KEY ?? null,
      baseUrl: values.OPENAI_BASE_URL ?? null,
      name: values.HASTEN_MODEL,
      prices: values.HASTEN_MODEL_PRICES ?? null,
      maxOutputTokens: values.HASTEN_MODEL_MAX_OUTPUT_TOKENS,
    },
    money: {
      runUsd: values.HASTEN_LIMIT_RUN_USD,
      repositoryHourUsd: values.HASTEN_LIMIT_REPOSITORY_HOUR_USD,
      installationDayUsd: values.HASTEN_LIMIT_INSTALLATION_DAY_USD,
      serviceDayUsd: values.HASTEN_LIMIT_SERVICE_DAY_USD,
    },
    attempts: values.HASTEN_ATTEMPTS,
    alertSources: found.alertSources,
    sandbox: { runtime: values.HASTEN_SANDBOX_RUNTIME, image: values.HASTEN_SANDBOX_IMAGE ?? null },
    inbox: {
      pendingPerRepository: values.HASTEN_PENDING_PER_REPOSITORY,
      pendingTotal: values.HASTEN_PENDING_TOTAL,
      bucket: { ratePerSecond: values.HASTEN_BUCKET_RATE, burst: values.HASTEN_BUCKET_BURST },
    },
    graceMs: values.HASTEN_GRACE_SECONDS * 1000,
    pace: {
      pullsPerHour: values.HASTEN_PULLS_PER_HOUR,
      pullsOpen: values.HASTEN_PULLS_OPEN,
      writePauseMs: values.HASTEN_WRITE_PAUSE_MS,
    },
    npmRegistry: values.HASTEN_NPM_REGISTRY ?? values.npm_config_registry ?? null,
    notices: notices(values, found),
  };
}

function notices(values: SettingValues, found: Found): string[] {
  const unknown = Object.keys(found.set).filter((key) => key.startsWith('HASTEN_') && !isSettingKey(key));
  const lines = unknown.map((key) => `${key} is set, but there is no such setting: is it misspelt?`);
  if (values.HASTEN_ALLOWED_ACCOUNTS.length === 0) {
    lines.push(
      'HASTEN_ALLOWED_ACCOUNTS is empty: nobody is served. Set it to the users and organisations that may use this service.',
    );
  }
  if (values.OPENAI_API_KEY === undefined && values.OPENAI_BASE_URL === undefined) {
    lines.push('Neither OPENAI_API_KEY nor OPENAI_BASE_URL is set: no model can be asked.');
  }
  return lines;
}
