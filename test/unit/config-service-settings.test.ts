import { generateKeyPairSync } from 'node:crypto';
import { calcPrice } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Environment, readServiceSettings, withEnvFile } from '../../src/config/service-settings.js';
import { UserError } from '../../src/domain/errors.js';

const pem = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
}).privateKey;
const APP = { APP_ID: '12', PRIVATE_KEY: pem, WEBHOOK_SECRET: 'a-webhook-secret' };
const noFile = (_path: string): string => {
  throw new Error('no such file');
};

function read(environment: Environment, readFile = noFile) {
  return readServiceSettings(environment, '/srv/hasten', readFile);
}

function problem(environment: Environment, readFile = noFile): string {
  try {
    read(environment, readFile);
  } catch (error) {
    if (error instanceof UserError && error.code === 'SETTINGS_INVALID') return error.message;
    throw error;
  }
  throw new Error('the settings were accepted');
}

describe('readServiceSettings', () => {
  it('has a default for everything but the App, and says that nobody is served', () => {
    const settings = read({});
    expect(settings).toMatchObject({
      app: null,
      github: { webUrl: 'https://github.com', apiUrl: 'https://api.github.com' },
      server: { host: 'localhost', port: 3000, maxBodyBytes: 5 * 1024 * 1024 },
      logLevel: 'info',
      dataDir: '/srv/hasten/.hasten/data',
      allowedAccounts: [],
      money: { runUsd: 5, repositoryHourUsd: 10, installationDayUsd: 25, serviceDayUsd: 50 },
      attempts: 3,
      alertSources: [],
      inbox: { pendingPerRepository: 200, pendingTotal: 5000 },
      graceMs: 20_000,
      pace: { pullsPerHour: 2, pullsOpen: 10 },
      npmRegistry: null,
    });
    expect(settings.notices.join('\n')).toMatch(/HASTEN_ALLOWED_ACCOUNTS is empty: nobody is served/);
    expect(settings.notices.join('\n')).toMatch(/OPENAI_API_KEY/);
  });

  it('has a default model whose price is known', () => {
    const price = calcPrice({ input_tokens: 1, output_tokens: 1 }, read({}).model.name);
    expect(price?.total_price).toBeGreaterThan(0);
  });

  it('takes every setting', () => {
    const settings = read({
      ...APP,
      GHE_HOST: 'github.example.org:8443',
      GHE_PROTOCOL: 'http',
      PORT: '8080',
      HOST: '0.0.0.0',
      LOG_LEVEL: 'debug',
      HASTEN_PUBLIC_URL: 'https://hasten.example.org/',
      HASTEN_DATA_DIR: '/var/lib/hasten',
      HASTEN_ALLOWED_ACCOUNTS: 'Acme, octo-org ,',
      OPENAI_API_KEY: 'sk-key',
      OPENAI_BASE_URL: 'http://127.0.0.1:9000/v1/',
      HASTEN_MODEL: 'qwen2.5-coder:32b',
      HASTEN_MODEL_PRICES: '0.5, 1.25',
      HASTEN_MODEL_MAX_OUTPUT_TOKENS: '4096',
      HASTEN_LIMIT_RUN_USD: '0.75',
      HASTEN_ATTEMPTS: '5',
      HASTEN_SANDBOX_RUNTIME: 'runsc',
      HASTEN_GRACE_SECONDS: '0',
      HASTEN_BUCKET_RATE: '0.5',
      HASTEN_NPM_REGISTRY: 'https://npm.example.org/',
      npm_config_registry: 'https://other.example.org/',
    });
    expect(settings).toMatchObject({
      app: { id: 12, privateKey: pem.trim(), webhookSecret: 'a-webhook-secret' },
      github: { webUrl: 'http://github.example.org:8443', apiUrl: 'http://github.example.org:8443/api/v3' },
      server: { host: '0.0.0.0', port: 8080, publicUrl: 'https://hasten.example.org' },
      dataDir: '/var/lib/hasten',
      allowedAccounts: ['acme', 'octo-org'],
      model: {
        apiKey: 'sk-key',
        baseUrl: 'http://127.0.0.1:9000/v1',
        name: 'qwen2.5-coder:32b',
        prices: { inputUsdPerMillion: 0.5, outputUsdPerMillion: 1.25 },
        maxOutputTokens: 4096,
      },
      money: { runUsd: 0.75 },
      attempts: 5,
      sandbox: { runtime: 'runsc', image: null },
      graceMs: 0,
      npmRegistry: 'https://npm.example.org',
      notices: [],
    });
    expect(read({ HASTEN_MODEL_PRICES: '{"input": 1, "output": "2"}' }).model.prices).toEqual({
      inputUsdPerMillion: 1,
      outputUsdPerMillion: 2,
    });
    expect(read({ npm_config_registry: 'https://other.example.org/' }).npmRegistry).toBe(
      'https://other.example.org',
    );
  });

  it('takes the private key as PEM, with escaped line breaks, in Base64, or out of a file', () => {
    const forms = [pem, `"${pem.replaceAll('\n', '\\n')}"`, Buffer.from(pem).toString('base64')];
    for (const form of forms)
      expect(read({ ...APP, PRIVATE_KEY: form }).app?.privateKey.trim()).toBe(pem.trim());
    const { PRIVATE_KEY: _, ...rest } = APP;
    const fromFile = read({ ...rest, PRIVATE_KEY_PATH: 'app.pem' }, (path) => {
      expect(path).toBe('/srv/hasten/app.pem');
      return pem;
    });
    expect(fromFile.app?.privateKey).toBe(pem);
    expect(problem({ ...rest, PRIVATE_KEY_PATH: 'app.pem' })).toMatch(
      /PRIVATE_KEY_PATH: "app.pem"; allowed: the path/,
    );
  });

  it('names key, value and what is allowed for each problem at once', () => {
    const message = problem({ PORT: '0', LOG_LEVEL: 'loud', GHE_PROTOCOL: 'ftp', HASTEN_ATTEMPTS: '2.5' });
    expect(message).toContain('- PORT: "0"; allowed: a whole number from 1 to 65535');
    expect(message).toContain('- LOG_LEVEL: "loud"; allowed: trace, debug, info, warn, error, fatal');
    expect(message).toContain('- GHE_PROTOCOL: "ftp"; allowed: http or https');
    expect(message).toContain('- HASTEN_ATTEMPTS: "2.5"; allowed: a whole number from 1 to 20');
    for (const [key, value] of [
      ['HASTEN_LIMIT_RUN_USD', '-1'],
      ['HASTEN_LIMIT_RUN_USD', '1e99'],
      ['HASTEN_MODEL_PRICES', '1'],
      ['HASTEN_MODEL_PRICES', '{"input": 1}'],
      ['HASTEN_MODEL_PRICES', '1,,2'],
      ['GHE_HOST', 'http://github.example.org'],
      ['OPENAI_BASE_URL', 'https://user:pass@example.org'],
      ['HASTEN_ALLOWED_ACCOUNTS', 'acme/web'],
      ['HASTEN_MAX_BODY_BYTES', '99999999'],
      ['HOST', 'a b'],
    ] as const) {
      expect(problem({ [key]: value })).toContain(`${key}: `);
      expect(problem({ [key]: value })).toContain('; allowed: ');
    }
  });

  it('says what belongs to an App that is set half', () => {
    expect(problem({ APP_ID: '12' })).toMatch(/PRIVATE_KEY: is not set[\s\S]*WEBHOOK_SECRET: is not set/);
    expect(problem({ PRIVATE_KEY: pem, WEBHOOK_SECRET: 'a-webhook-secret' })).toContain('APP_ID: is not set');
    expect(problem({ ...APP, PRIVATE_KEY: 'nonsense' })).toMatch(/PRIVATE_KEY: \(hidden, 8 characters\)/);
  });

  it('tells keys that are misspelt', () => {
    expect(read({ HASTEN_LIMIT_RUN: '3' }).notices[0]).toMatch(/^HASTEN_LIMIT_RUN is set, but/);
  });

  it('never shows a secret in a message, whatever is wrong with it', () => {
    const secretText = fc.stringMatching(/^[A-Za-z0-9]{5,40}$/).map((text) => `zq${text}`);
    fc.assert(
      fc.property(secretText, (text) => {
        const broken = [
          problem({ APP_ID: '12', PRIVATE_KEY: text }),
          problem({ APP_ID: 'x', WEBHOOK_SECRET: text, OPENAI_API_KEY: text }),
          problem({ HASTEN_ALERT_SOURCES: text }),
          problem({ HASTEN_ALERT_SOURCES: JSON.stringify({ am: { token: `${text} `, repositories: 1 } }) }),
          problem({ HASTEN_ALERT_SOURCES: JSON.stringify({ am: { [text]: 1, token: text } }) }),
        ];
        for (const message of broken) expect(message).not.toContain(text);
      }),
      { numRuns: 50 },
    );
  });

  it('reads alert sources out of the environment or a file, and says what is wrong in them', () => {
    const token = 'a-token-of-sixteen-or-more';
    const sources = {
      am: { token, repositories: ['acme/web'], routes: [{ match: { a: 'b' }, repository: 'acme/web' }] },
    };
    const expected = [{ name: 'am', ...sources.am }];
    expect(read({ HASTEN_ALERT_SOURCES: JSON.stringify(sources) }).alertSources).toEqual(expected);
    expect(read({ HASTEN_ALERT_SOURCES_FILE: 'a.json' }, () => JSON.stringify(sources)).alertSources).toEqual(
      expected,
    );
    const wrong: [unknown, string][] = [
      [{ am: { token: 'short', repositories: ['acme/web'] } }, 'HASTEN_ALERT_SOURCES.am.token: '],
      [{ am: { token, repositories: [] } }, 'HASTEN_ALERT_SOURCES.am.repositories: '],
      [{ am: { token, repositories: ['web'] } }, 'HASTEN_ALERT_SOURCES.am.repositories.0: '],
      [{ am: { token, repositories: ['acme/..'] } }, 'HASTEN_ALERT_SOURCES.am.repositories.0: '],
      [
        {
          am: { token, repositories: ['acme/web'], routes: [{ match: { a: 'b' }, repository: 'acme/api' }] },
        },
        'HASTEN_ALERT_SOURCES.am.routes.0.repository: ',
      ],
      [{ am: sources.am, other: sources.am }, 'HASTEN_ALERT_SOURCES.other.token: '],
      [[], 'HASTEN_ALERT_SOURCES: '],
    ];
    for (const [value, expectedText] of wrong) {
      expect(problem({ HASTEN_ALERT_SOURCES: JSON.stringify(value) })).toContain(expectedText);
    }
    expect(problem({ HASTEN_ALERT_SOURCES: '{}', HASTEN_ALERT_SOURCES_FILE: 'a.json' })).toContain('_FILE');
  });
});

describe('withEnvFile', () => {
  it('adds what a .env file says, under what is set already', () => {
    expect(withEnvFile({ PORT: '1' }, 'PORT=2\nAPP_ID=3\n# no\nPRIVATE_KEY="a\\nb"\n')).toMatchObject({
      PORT: '1',
      APP_ID: '3',
      PRIVATE_KEY: 'a\nb',
    });
  });
});
