/** Every key that the service reads from its environment, with what is allowed and the default. */
import { z } from 'zod';
import { parseModelPrices } from './model-prices.js';
import { accountList, decimal, dollars, hostAndPort, webAddress, whole } from './setting-kinds.js';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Has a known price in the kept price list; any other one needs HASTEN_MODEL_PRICES when the list lacks it. */
export const DEFAULT_MODEL = 'gpt-5.1';

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
  HASTEN_MODEL_PRICES: z.string().transform(parseModelPrices).optional(),
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
  HASTEN_WRITE_PAUSE_MS: whole(0, 60_000, ' of milliseconds').default(1000),
  HASTEN_NPM_REGISTRY: webAddress().optional(),
  /** Set by npm itself for scripts, when its own settings name a registry. */
  npm_config_registry: webAddress().optional().catch(undefined),
} as const;
/** Values of all keys, before they are put together; empty texts are taken out before. */
export const settingsSchema = z.object(KEYS);
export type SettingValues = z.infer<typeof settingsSchema>;

export function isSettingKey(key: string): boolean {
  return Object.hasOwn(KEYS, key);
}
