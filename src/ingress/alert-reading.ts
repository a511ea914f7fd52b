/** Turns one stored alert into a trigger for the repository that it is about. */
import { type AlertSource, listedRepository } from '../config/alert-sources.js';
import type { Delivery, Reading } from '../domain/delivery.js';
import { storedAlert } from './alert-payload.js';
import { alertBody, alertTitle } from './alert-text.js';
import type { GithubAccess } from './github-access.js';
import { NotThere } from './github-failure.js';
import { RepositoryQuestions } from './repository-questions.js';

export interface AlertReadingDeps {
  readonly access: GithubAccess;
  /** Logins in lower case. */
  readonly allowedAccounts: readonly string[];
  readonly alertSources: readonly AlertSource[];
}

/** Throws NotThere when the alert cannot start a run (any more), PeerError when GitHub cannot be asked. */
export async function readAlert(
  delivery: Delivery,
  deps: AlertReadingDeps,
  signal: AbortSignal,
): Promise<Reading> {
  const parsed = storedAlert.safeParse(JSON.parse(delivery.body));
  if (!parsed.success) return { kind: 'ignored', reason: 'not a stored alert' };
  const { alert, source: sourceName, repository: named } = parsed.data;
  if (alert.status === 'resolved') return { kind: 'ignored', reason: 'the alert is resolved' };
  const source = deps.alertSources.find(({ name }) => name === sourceName);
  if (source === undefined || listedRepository(source, named) === null) {
    return { kind: 'ignored', reason: 'the source may not name the repository any more' };
  }
  const github = await open(named, deps, signal);
  return {
    kind: 'trigger',
    trigger: {
      id: `alert:${delivery.id}`,
      source: 'alert',
      repository: github.repository,
      issueNumber: null,
      title: alertTitle(alert),
      body: alertBody(alert),
      hint: null,
      actor: `alert:${sourceName}`,
      outsideText: false,
      baseCommit: await github.headCommit(),
      requestedAt: delivery.receivedAt,
      collapseKey: `alert:${alert.fingerprint}`,
    },
  };
}

async function open(
  named: string,
  deps: AlertReadingDeps,
  signal: AbortSignal,
): Promise<RepositoryQuestions> {
  const [owner = '', name = ''] = named.split('/', 2);
  const installation = await deps.access.installationOf(owner, name, signal);
  if (installation === null) throw new NotThere('the App is not installed on the repository');
  const github = await RepositoryQuestions.open(
    deps.access,
    { owner, name, id: null, installationId: installation.id },
    signal,
  );
  if (!deps.allowedAccounts.includes(github.repository.owner.toLowerCase())) {
    throw new NotThere('this service does not serve the account');
  }
  return github;
}
