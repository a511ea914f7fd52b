// A bare App client for tests of the rig: signs the App's JWT and calls REST as the App or as an installation.
import { createSign } from 'node:crypto';
import type { AppCredentials, EmulatedGitHub } from './emulated-github/emulated-github.js';
import { type Json, type JsonObject, parseJson, textAt } from './emulated-github/json.js';

export interface ClientAnswer {
  readonly status: number;
  readonly json: Json | undefined;
  readonly text: string;
  readonly headers: Headers;
}

/** The App's JWT; `lifetimeSeconds` above 600 is refused by GitHub. */
export function appToken(app: AppCredentials, nowMs: number, lifetimeSeconds = 540): string {
  const now = Math.floor(nowMs / 1000);
  const encode = (value: JsonObject) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iat: now - 30, exp: now + lifetimeSeconds, iss: String(app.appId) };
  const unsigned = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  const signature = createSign('RSA-SHA256').update(unsigned).sign(app.privateKey).toString('base64url');
  return `${unsigned}.${signature}`;
}

/** Calls REST with a token, or without one; `accept` is GitHub's JSON when left out. */
export async function rest(
  github: EmulatedGitHub,
  token: string | undefined,
  method: string,
  path: string,
  body?: Json,
  accept = 'application/vnd.github+json',
): Promise<ClientAnswer> {
  const answer = await fetch(`${github.url}/api/v3${path}`, {
    method,
    headers: { accept, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, json: parseJson(text), text, headers: answer.headers };
}

/** A new installation token, narrowed by `request` (`permissions`, `repositories`). */
export async function installationToken(github: EmulatedGitHub, request?: JsonObject): Promise<string> {
  const path = `/app/installations/${github.app.installationId}/access_tokens`;
  const answer = await rest(github, appToken(github.app, Date.now()), 'POST', path, request);
  if (answer.status !== 201) throw new Error(`access_tokens answered ${answer.status}: ${answer.text}`);
  return textAt(answer.json, 'token');
}
