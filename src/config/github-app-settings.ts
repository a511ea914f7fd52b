/** The App's credentials out of the environment, in every form that Probot takes. */
import { createPrivateKey } from 'node:crypto';
import type { SettingValues } from './setting-keys.js';
import type { SettingProblems } from './setting-problems.js';

export interface GithubAppSettings {
  readonly id: number;
  /** PEM text; a secret. */
  readonly privateKey: string;
  /** A secret. */
  readonly webhookSecret: string;
}

/** Gives a file's text, or null after it has noted the problem under the key. */
export type ReadFile = (key: string, path: string) => string | null;

/** Null when nothing is set, or after it has noted what is missing or wrong. */
export function appSettings(
  values: SettingValues,
  read: ReadFile,
  problems: SettingProblems,
): GithubAppSettings | null {
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
