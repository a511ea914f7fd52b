/** The routes of the service: what is taken where, and what everything else is answered. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { ServiceSettings } from '../config/service-settings.js';
import type { Inbox } from '../domain/delivery.js';
import { storedError } from '../domain/errors.js';
import { handleAlerts } from './alert-handler.js';
import { handleGithubWebhook } from './github-webhook-handler.js';
import { type HealthReport, handleHealth, handleReady, SharedHealth } from './health-handler.js';
import { pathOf, refuse, stopping, storeFailed } from './http-answer.js';
import { BodyReader } from './request-body.js';

/** Probot's webhook path. */
export const WEBHOOK_PATH = '/api/github/webhooks';
export const ALERTS_PATH = '/alerts';

/** Bodies that may be in memory at once, in units of the largest one. */
const BODIES_AT_ONCE = 16;

export interface RoutesDeps {
  readonly settings: Pick<ServiceSettings, 'server' | 'allowedAccounts' | 'alertSources'>;
  readonly inbox: Inbox;
  readonly health: () => Promise<HealthReport>;
  readonly log: Logger;
  /** Epoch milliseconds; the clock when left out. */
  readonly now?: () => number;
}

/** Picks the route of a request; whatever fails in it is answered, never thrown on to Probot. */
export class Routes {
  stopping = false;
  verify: (body: string, signature: string) => Promise<boolean> = () => Promise.resolve(false);
  private readonly bodies: BodyReader;
  private readonly health: SharedHealth;
  private readonly now: () => number;

  constructor(private readonly deps: RoutesDeps) {
    const { maxBodyBytes: maxBytes } = deps.settings.server;
    this.bodies = new BodyReader({ maxBytes, maxTotalBytes: maxBytes * BODIES_AT_ONCE });
    this.now = deps.now ?? Date.now;
    this.health = new SharedHealth(deps.health, this.now);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    try {
      await this.route(request, response);
    } catch (error) {
      this.deps.log.error({ path: pathOf(request.url), error: storedError(error) }, 'a request failed');
      refuse(response, storeFailed());
    }
    return true;
  }

  private async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { bodies, now } = this;
    const { inbox, log, settings } = this.deps;
    const { allowedAccounts, alertSources } = settings;
    const path = pathOf(request.url);
    if (path === '/health') return handleHealth(request, response, this.health);
    if (path === '/ready') return handleReady(request, response, this.stopping);
    if (this.stopping) return refuse(response, stopping());
    if (path === WEBHOOK_PATH) {
      return handleGithubWebhook(request, response, {
        inbox,
        bodies,
        allowedAccounts,
        verify: this.verify,
        now,
        log,
      });
    }
    if (path === ALERTS_PATH) {
      return handleAlerts(request, response, {
        inbox,
        bodies,
        sources: alertSources,
        allowedAccounts,
        now,
        log,
      });
    }
    refuse(response, {
      status: 404,
      code: 'NOT_FOUND',
      message: 'There is nothing at this address.',
      hint: `${WEBHOOK_PATH} takes webhooks of GitHub, ${ALERTS_PATH} takes alerts, /health and /ready tell the state.`,
      close: request.method !== 'GET',
    });
  }
}
