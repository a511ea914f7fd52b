/** The operator's settings: everything that the service takes from its environment, validated before anything starts. */
import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { UserError } from '../domain/errors.js';
import type { MoneyLimits } from '../domain/money.js';
import { type AlertSource, parseAlertSources } from './alert-sources.js';
import { accountList, decimal, dollars, hostAndPort, webAddress, whole } from './setting-kinds.js';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Has a known price in the kept price list; any other one needs HASTEN_MODEL_PRICES when the list lacks it. */
export const DEFAULT_MODEL = 'gpt-5.1';

export interface GithubAppSettings {
  readonly id: number;
  /** PEM text; a secret. */
  readonly privateKey: string;
  /** A secret. */
  readonly webhookSecret: string;
}

/** Where GitHub is: github.com, or the server of GHE_HOST. No slash at the end. */
export interface GithubHost {
  readonly webUrl: string;
  readonly apiUrl: string;
}

export interface ModelPrices {
  /** US dollars per million tokens. */
  readonly inputUsdPerMillion: number;
  readonly outputUsdPerMillion: number;
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
  readonly pace: { readonly pullsPerHour: number; readonly pullsOpen: number };
  readonly npmRegistry: string;
  /** Sentences for the log at start: what is off, unknown or unusual. */
  readonly notices: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

const SECRETS: ReadonlySet<string> = new Set([
  'PRIVATE_KEY',
  'WEBHOOK_SECRET',
  'OPENAI_API_KEY',
  'HASTEN_ALERT_SOURCES',
]);
const MAX_SHOWN_CHARS = 80;
const MIB = 1024 * 1024;
const secret = z.string().min(8, 'at least 8 characters');

const KEYS = {
  APP_ID: whole(1, 999_999_999_999).optional(),
  PRIVATE_KEY: z.string().optional(),
  PRIVATE_KEY_PATH: z.string().optional(),
  WEBHOOK_SECRET: secret.optional(),
  GHE_HOST: hostAndPort().optional(),
  GHE_PROTOCOL: z.enum(['http', 'https'], 'http or https').default('https'),
  PORT: whole(1, 65_535).default(3000),
  HOST: z
    .string()
    .regex(/^[A-Za-z0-9.:_-]{1,253}$/, 'a host name or address to listen on')
    .default('localhost'),
  LOG_LEVEL: z.enum(LOG_LEVELS, LOG_LEVELS.join(', ')).default('info'),
  HASTEN_PUBLIC_URL: webAddress().optional(),
  HASTEN_DATA_DIR: z.string().default('.hasten/data'),
  HASTEN_ALLOWED_ACCOUNTS: accountList().default([]),
  OPENAI_API_KEY: z.string().optional(),
  OPENAI_BASE_URL: webAddress().optional(),
  HASTEN_MODEL: z
    .string()
    .regex(/^[\w./:@-]{1,200}$/, 'the name of a model')
    .default(DEFAULT_MODEL),
  HASTEN_MODEL_PRICES: z.string().transform(parsePrices).optional(),
  HASTEN_MODEL_MAX_OUTPUT_TOKENS: whole(256, 1_000_000).default(16_384),
  HASTEN_LIMIT_RUN_USD: dollars().default(5),
  HASTEN_LIMIT_REPOSITORY_HOUR_USD: dollars().default(10),
  HASTEN_LIMIT_INSTALLATION_DAY_USD: dollars().default(25),
  HASTEN_LIMIT_SERVICE_DAY_USD: dollars().default(50),
  HASTEN_ATTEMPTS: whole(1, 20).default(3),
  HASTEN_ALERT_SOURCES: z.string().optional(),
  HASTEN_ALERT_SOURCES_FILE: z.string().optional(),
  HASTEN_SANDBOX_RUNTIME: z
    .string()
    .regex(/^[\w.-]{1,100}$/, 'the name of a Docker runtime')
    .default('runc'),
  HASTEN_SANDBOX_IMAGE: z
    .string()
    .regex(/^[\w./:@-]{1,300}$/, 'the name of a Docker image')
    .optional(),
  HASTEN_MAX_BODY_BYTES: whole(1024, 25 * MIB, ' of bytes').default(5 * MIB),
  HASTEN_PENDING_PER_REPOSITORY: whole(1, 100_000).default(200),
  HASTEN_PENDING_TOTAL: whole(1, 1_000_000).default(5000),
  HASTEN_BUCKET_RATE: decimal(0.01, 10_000, ' of requests a second').default(10),
  HASTEN_BUCKET_BURST: whole(1, 100_000).default(200),
  HASTEN_GRACE_SECONDS: whole(0, 3600, ' of seconds').default(20),
  HASTEN_PULLS_PER_HOUR: whole(0, 1000).default(2),
  HASTEN_PULLS_OPEN: whole(0, 1000).default(10),
  HASTEN_NPM_REGISTRY: webAddress().optional(),
} as const;
const schema = z.object(KEYS);
type Values = z.infer<typeof schema>;

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
  const problems = new Problems(set);
  const result = schema.safeParse(set);
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

/** Collects what is wrong, so that one start shows all of it. */
class Problems {
  private readonly lines: string[] = [];
  constructor(private readonly set: Readonly<Record<string, string>>) {}

  get found(): boolean {
    return this.lines.length > 0;
  }

  add(key: string, allowed: string, inner: readonly string[] = []): void {
    const name = [key, ...inner].join('.');
    this.lines.push(`${name}: ${this.shown(key)}; allowed: ${allowed}`);
  }

  error(): UserError {
    const message = `The settings of the service cannot be used:\n${this.lines.map((line) => `- ${line}`).join('\n')}`;
    return new UserError({ code: 'SETTINGS_INVALID', message });
  }

  private shown(key: string): string {
    const value = this.set[key];
    if (value === undefined) return 'is not set';
    if (SECRETS.has(key)) return `(hidden, ${value.length} characters)`;
    return JSON.stringify(value.length > MAX_SHOWN_CHARS ? `${value.slice(0, MAX_SHOWN_CHARS)}…` : value);
  }
}

type ReadFile = (key: string, path: string) => string | null;

function readOrReport(
  key: string,
  path: string,
  readFile: (path: string) => string,
  problems: Problems,
): string | null {
  try {
    return readFile(path);
  } catch {
    problems.add(key, 'the path of a file that can be read');
    return null;
  }
}

function appSettings(values: Values, read: ReadFile, problems: Problems): GithubAppSettings | null {
  const key = values.PRIVATE_KEY === undefined ? 'PRIVATE_KEY_PATH' : 'PRIVATE_KEY';
  const given =
    values.PRIVATE_KEY ?? (values.PRIVATE_KEY_PATH && read('PRIVATE_KEY_PATH', values.PRIVATE_KEY_PATH));
  if (values.APP_ID === undefined && given === undefined) return null;
  if (given === null) return null;
  if (values.APP_ID === undefined)
    problems.add('APP_ID', 'the number of the App, since a private key is set');
  if (given === undefined)
    problems.add(
      'PRIVATE_KEY',
      "the App's private key (or its file in PRIVATE_KEY_PATH), since APP_ID is set",
    );
  if (values.WEBHOOK_SECRET === undefined)
    problems.add('WEBHOOK_SECRET', "the App's webhook secret, at least 8 characters");
  const privateKey = given === undefined ? null : pemOf(given);
  if (given !== undefined && privateKey === null)
    problems.add(key, 'an RSA private key in PEM form, or that in Base64');
  if (values.APP_ID === undefined || privateKey === null || values.WEBHOOK_SECRET === undefined) return null;
  return { id: values.APP_ID, privateKey, webhookSecret: values.WEBHOOK_SECRET };
}

/** As Probot takes it: PEM with real or escaped line breaks, or Base64 of it. */
function pemOf(text: string): string | null {
  const plain = text.replace(/^"|"$/g, '').replace(/\\n/g, '\n');
  const pem = plain.includes('-----BEGIN') ? plain : Buffer.from(plain, 'base64').toString('utf8');
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa' ? pem : null;
  } catch {
    return null;
  }
}

function sources(values: Values, read: ReadFile, problems: Problems): readonly AlertSource[] {
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

/** `input,output` or `{"input": 1.25, "output": 10}`, US dollars per million tokens. */
function parsePrices(text: string, context: z.RefinementCtx): ModelPrices {
  const price = z.coerce.number().min(0).max(100_000);
  const shape = z.strictObject({ input: price, output: price });
  const [input, output, ...rest] = text.split(',');
  const pair = rest.length === 0 && input?.trim() && output?.trim() ? { input, output } : null;
  const parsed = shape.safeParse(text.startsWith('{') ? jsonOf(text) : pair);
  if (parsed.success) {
    return { inputUsdPerMillion: parsed.data.input, outputUsdPerMillion: parsed.data.output };
  }
  const message =
    'US dollars per million tokens as "1.25,10" (input, output) or {"input": 1.25, "output": 10}';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function githubHost(values: Values): GithubHost {
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

function assemble(values: Values, found: Found): ServiceSettings {
  const registry = values.HASTEN_NPM_REGISTRY ?? 'https://registry.npmjs.org';
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
    pace: { pullsPerHour: values.HASTEN_PULLS_PER_HOUR, pullsOpen: values.HASTEN_PULLS_OPEN },
    npmRegistry: registry,
    notices: notices(values, found),
  };
}

function notices(values: Values, found: Found): string[] {
  const unknown = Object.keys(found.set).filter((key) => key.startsWith('HASTEN_') && !(key in KEYS));
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
