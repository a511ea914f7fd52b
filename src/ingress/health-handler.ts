/** `GET /health` (is everything that runs need there?) and `GET /ready` (are deliveries taken?). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerJson, methodNotAllowed, refuse, stopping } from './http-answer.js';

export interface HealthPart {
  readonly ok: boolean;
  /** One sentence, safe to show to anybody: what answered, or what is missing. */
  readonly detail: string;
}

export interface HealthReport {
  /** `degraded`: deliveries are stored, runs wait. */
  readonly status: 'ok' | 'degraded';
  readonly docker: HealthPart;
  readonly model: HealthPart;
  readonly github: HealthPart;
  /** Deliveries that wait to be read. */
  readonly pending: number;
}

/** The route is open to anybody, so one check serves all requests of this time. */
const SHARED_MS = 3000;

/** Asks at most once per few seconds, and one caller at a time. */
export class SharedHealth {
  private last: { readonly at: number; readonly report: Promise<HealthReport> } | null = null;

  constructor(
    private readonly check: () => Promise<HealthReport>,
    private readonly now: () => number,
  ) {}

  report(): Promise<HealthReport> {
    const at = this.now();
    if (this.last === null || at - this.last.at > SHARED_MS) this.last = { at, report: this.check() };
    return this.last.report;
  }
}

/** 200 with the report while all is well, else 503 with it. */
export async function handleHealth(
  request: IncomingMessage,
  response: ServerResponse,
  health: SharedHealth,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, methodNotAllowed('GET'));
  const report = await health.report();
  answerJson(response, report.status === 'ok' ? 200 : 503, report);
}

/** 200 while deliveries are taken, 503 once the service stops. */
export function handleReady(request: IncomingMessage, response: ServerResponse, isStopping: boolean): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') refuse(response, methodNotAllowed('GET'));
  else if (isStopping) refuse(response, stopping());
  else answerJson(response, 200, { status: 'ready' });
}
