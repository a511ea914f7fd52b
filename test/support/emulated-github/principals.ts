// Who sends a request: decides which tokens the emulated GitHub knows, on REST and on git alike.
import { asObjects, at, type JsonObject, numberAt, parseJson, textAt } from './json.js';
import { type EmulatedGitHubSeed, tokenOf } from './seed.js';

export interface InstallationPrincipal {
  readonly kind: 'installation';
  readonly token: string;
  readonly installationId: number;
  readonly account: string;
  readonly permissions: Readonly<Record<string, string>>;
  /** Full names that the token is narrowed to, or `all` of the account. */
  readonly repositories: 'all' | readonly string[];
  readonly expiresAt: number;
}

export type Principal =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'user'; readonly login: string; readonly token: string }
  | { readonly kind: 'app'; readonly token: string }
  | InstallationPrincipal
  | { readonly kind: 'invalid'; readonly message: string };

const ANONYMOUS: Principal = { kind: 'anonymous' };
/** GitHub refuses an App's JWT that expires later than this from now. */
const LONGEST_JWT_SECONDS = 600;

export class Principals {
  readonly #users = new Map<string, string>();
  readonly #installations = new Map<string, InstallationPrincipal>();
  readonly #accounts = new Map<number, string>();

  constructor(seed: EmulatedGitHubSeed) {
    for (const login of seed.users) this.#users.set(tokenOf(login), login);
    for (const { id, account } of seed.app.installations) this.#accounts.set(id, account);
  }

  /** Who sends a request with this Authorization header; `nowMs` is the time of the request. */
  identify(authorization: string | undefined, nowMs: number): Principal {
    if (authorization === undefined || authorization === '') return ANONYMOUS;
    const [scheme = '', value = ''] = authorization.split(/\s+/, 2);
    if (/^basic$/i.test(scheme)) {
      const [, ...password] = Buffer.from(value, 'base64').toString('utf8').split(':');
      return this.#identifyToken(password.join(':'), nowMs);
    }
    if (!/^(bearer|token)$/i.test(scheme)) return { kind: 'invalid', message: 'Bad credentials' };
    return value.startsWith('eyJ') ? identifyJwt(value, nowMs) : this.#identifyToken(value, nowMs);
  }

  /** Remembers the token of a 201 answer to `POST /app/installations/{id}/access_tokens`. */
  learn(installationId: number, answer: JsonObject): void {
    const token = textAt(answer, 'token');
    const narrowed = at(answer, 'repository_selection') === 'selected';
    this.#installations.set(token, {
      kind: 'installation',
      token,
      installationId,
      account: this.#accounts.get(installationId) ?? '',
      permissions: Object.fromEntries(
        Object.entries(at(answer, 'permissions') ?? {}).map(([name, level]) => [name, String(level)]),
      ),
      repositories: narrowed
        ? asObjects(answer.repositories).map((repository) => textAt(repository, 'full_name'))
        : 'all',
      expiresAt: Date.parse(textAt(answer, 'expires_at')),
    });
  }

  /** Forgets a token, so that it gets 401 from now on. True when it was known. */
  revoke(token: string): boolean {
    return this.#installations.delete(token) || this.#users.delete(token);
  }

  /** Forgets every installation token, as if all of them had expired. */
  revokeInstallationTokens(): void {
    this.#installations.clear();
  }

  #identifyToken(token: string, nowMs: number): Principal {
    const login = this.#users.get(token);
    if (login !== undefined) return { kind: 'user', login, token };
    const installation = this.#installations.get(token);
    if (installation !== undefined && installation.expiresAt > nowMs) return installation;
    return { kind: 'invalid', message: 'Bad credentials' };
  }
}

function identifyJwt(token: string, nowMs: number): Principal {
  const payload = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  const now = nowMs / 1000;
  const [expiry, issued] = [numberAt(payload, 'exp'), numberAt(payload, 'iat')];
  if (Number.isNaN(expiry) || Number.isNaN(issued)) {
    return { kind: 'invalid', message: 'A JSON web token could not be decoded' };
  }
  if (expiry > now + LONGEST_JWT_SECONDS) {
    return {
      kind: 'invalid',
      message: "'Expiration time' claim ('exp') is too far in the future",
    };
  }
  if (expiry <= now) {
    return {
      kind: 'invalid',
      message:
        "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
    };
  }
  if (issued > now + 60) {
    return {
      kind: 'invalid',
      message:
        "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
    };
  }
  return { kind: 'app', token };
}

/** True when an installation token has at least this level of a permission. */
export function granted(
  principal: InstallationPrincipal,
  permission: string,
  level: 'read' | 'write',
): boolean {
  const held = principal.permissions[permission];
  return held === 'write' || (level === 'read' && held === 'read');
}

/** True when an installation token covers a repository. */
export function covers(principal: InstallationPrincipal, fullName: string): boolean {
  if (principal.repositories !== 'all') return principal.repositories.includes(fullName);
  return fullName.split('/')[0] === principal.account;
}
