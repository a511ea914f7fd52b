/** Octokit clients for the publisher: a narrowed token each, and writes in a line with pauses, as GitHub asks of integrators. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Octokit } from '@octokit/rest';
import { UserError } from '../domain/errors.js';
import type { RepositoryRef } from '../domain/repository.js';
import type { AppIdentity, GithubClients, TokenPermissions } from './github-clients.js';

/** Where tokens come from; they are held in memory there and never stored here. */
export interface TokenSource {
  repositoryToken(
    repository: RepositoryRef,
    permissions: TokenPermissions,
    signal: AbortSignal,
  ): Promise<string | null>;
  whoAmI(signal: AbortSignal): Promise<AppIdentity>;
}

export interface OctokitClientsOptions {
  readonly tokens: TokenSource;
  /** Without a slash at the end. */
  readonly apiUrl: string;
  /** Milliseconds between the end of one write and the start of the next, per installation. */
  readonly writePauseMs: number;
}

const REQUEST_TIMEOUT_MS = 30_000;

export function createGithubClients(options: OctokitClientsOptions): GithubClients {
  const lines = new Map<number, Promise<unknown>>();

  /** Runs `write` after all earlier writes of the installation and a pause. */
  function inLine<T>(installation: number, write: () => Promise<T>): Promise<T> {
    const before = lines.get(installation) ?? Promise.resolve();
    const result = before.then(write, write);
    const paused = result.then(
      () => sleep(options.writePauseMs),
      () => sleep(options.writePauseMs),
    );
    lines.set(installation, paused);
    return result;
  }

  return {
    async forRepository(repository, permissions, signal) {
      const { installationId } = repository;
      const token = await options.tokens.repositoryToken(repository, permissions, signal);
      if (token === null || installationId === null) {
        throw new UserError({
          code: 'NOT_ON_GITHUB',
          message: `${repository.owner}/${repository.name} is a local repository; nothing can be written to GitHub for it.`,
        });
      }
      const octokit = new Octokit({
        auth: token,
        baseUrl: options.apiUrl,
        userAgent: 'hasten',
        log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
      });
      octokit.hook.wrap('request', (request, parameters) => {
        const send = (): ReturnType<typeof request> =>
          request({
            ...parameters,
            request: {
              ...parameters.request,
              signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
            },
          });
        return parameters.method === 'GET' ? send() : inLine(installationId, async () => send());
      });
      return octokit;
    },
    appIdentity: (signal) => options.tokens.whoAmI(signal),
  };
}

/** Octokit's own warnings repeat addresses and bodies; failures are told by the stations. */
function ignore(): void {}
