/** The operator's ceilings that a repository's own settings can only narrow. */
import type { RepositoryCeilings } from './repository-file.js';
import type { ServiceSettings } from './service-settings.js';

const MINUTE_MS = 60_000;

export function ceilingsOf(settings: Pick<ServiceSettings, 'attempts' | 'money'>): RepositoryCeilings {
  return {
    attempts: settings.attempts,
    budgetUsd: settings.money.runUsd,
    timeouts: {
      installMs: 10 * MINUTE_MS,
      buildMs: 10 * MINUTE_MS,
      testMs: 20 * MINUTE_MS,
      measureMs: 15 * MINUTE_MS,
    },
    memoryBytes: 2 * 2 ** 30,
  };
}
