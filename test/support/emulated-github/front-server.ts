// The HTTP server of the emulated GitHub: identifies the caller, meets faults, routes, completes, records.

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { refuse } from './access.js';
import { type Answer, failure, notAccessible } from './answer.js';
import { complete } from './complete-answer.js';
import { completeWebhook } from './complete-webhook.js';
import type { FaultEffect } from './faults.js';
import type { Front, FrontRequest } from './front.js';
import { decode, readBody, singleHeaders, unmount, withGitHubHeaders, write } from './front-http.js';
import { RouteTable } from './front-routes.js';
import { parseGitPath, serveGit } from './git-http.js';
import type { JournalEntry } from './journal.js';
import { asObject, type Json, parseJson, textAt } from './json.js';
import { addAppRoutes } from './routes-app.js';
import { addGraphqlRoutes } from './routes-graphql.js';
import { addIssueRoutes } from './routes-issues.js';
import { addPullRoutes } from './routes-pulls.js';
import { addReactionRoutes } from './routes-reactions.js';
import { addRepositoryRoutes } from './routes-repository.js';

/** emulate's webhooks arrive here; the path is not part of the public face. */
export const EMULATE_WEBHOOK_PATH = '/_rig/emulate-webhook';

/** A server on 127.0.0.1 that answers 503 until `serve` has given it its front. */
export class FrontServer {
  readonly url: string;
  readonly #server: Server;
  readonly #routes = new RouteTable();
  #front: Front | undefined;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
    for (const add of [
      addAppRoutes,
      addRepositoryRoutes,
      addReactionRoutes,
      addPullRoutes,
      addIssueRoutes,
      addGraphqlRoutes,
    ]) {
      add(this.#routes);
    }
  }

  /** Listens on `port`, or on a free one for 0. */
  static async listen(port: number): Promise<FrontServer> {
    const server = createServer();
    server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    const address = server.address();
    const front = new FrontServer(server, typeof address === 'object' && address ? address.port : port);
    server.on('request', (request, response) => void front.#handle(request, response));
    return front;
  }

  serve(front: Front): void {
    this.#front = front;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const front = this.#front;
      const body = await readBody(request);
      if (front === undefined) return write(response, failure(503, 'starting'));
      if (request.url === EMULATE_WEBHOOK_PATH) return receiveWebhook(front, request, response, body);
      await this.#answer(front, request, response, body);
    } catch (error) {
      if (response.headersSent || response.destroyed) response.destroy();
      else write(response, ownFailure(error));
    }
  }

  async #answer(
    front: Front,
    incoming: IncomingMessage,
    response: ServerResponse,
    bytes: Buffer,
  ): Promise<void> {
    const url = new URL(incoming.url ?? '/', front.url);
    const { mount, path: rawPath } = unmount(url.pathname);
    const path = decode(rawPath);
    const method = incoming.method ?? 'GET';
    const principal = front.principals.identify(incoming.headers.authorization, Date.now());
    const git = parseGitPath(path);
    const body = git === undefined ? parseJson(bytes.toString('utf8')) : undefined;
    const entry = front.journal.open({
      at: new Date(),
      method,
      path,
      query: url.search,
      mount,
      accept: incoming.headers.accept ?? '',
      caller: principal.kind,
      login: principal.kind === 'user' ? principal.login : undefined,
      permissions: principal.kind === 'installation' ? principal.permissions : undefined,
      requestBody: body,
    });
    const fault = front.faults.meet(method, path);
    if (fault !== undefined && (await interrupt(fault, entry, response))) return;
    const request: FrontRequest = {
      method,
      path,
      rawPath,
      query: url.searchParams,
      accept: entry.accept,
      body,
      principal,
      params: {},
    };
    const answering =
      git === undefined
        ? this.#rest(front, request, bytes)
        : serveGit(front, {
            method,
            ...git,
            query: url.search.slice(1),
            headers: singleHeaders(incoming),
            body: bytes,
            principal,
          });
    const answer = await answering.catch(ownFailure);
    entry.status = answer.status;
    entry.responseBody = Buffer.isBuffer(answer.body) ? undefined : answer.body;
    front.relay.noteActivity();
    if (fault?.kind === 'drop-after-effect') response.destroy();
    else write(response, withGitHubHeaders(front, answer, mount), method === 'HEAD');
  }

  async #rest(front: Front, request: FrontRequest, bytes: Buffer): Promise<Answer> {
    const refusal = await refuse(front, request);
    if (refusal !== undefined) return refusal;
    if (bytes.length > 0 && request.body === undefined) return failure(400, 'Problems parsing JSON');
    const route = this.#routes.find(request.method, request.path);
    const answer =
      route === undefined
        ? await front.forward(request)
        : await route.handler(front, { ...request, params: route.params });
    return finish(front, request, answer);
  }
}

/** A mistake of the rig itself, with its stack, so that a test shows it. */
function ownFailure(error: unknown): Answer {
  return failure(500, `rig: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
}

/** The answer with complete objects, and with GitHub's words where emulate only says "Forbidden". */
function finish(front: Front, request: FrontRequest, answer: Answer): Answer {
  const { body, status } = answer;
  if (body === undefined || Buffer.isBuffer(body)) return answer;
  if (status < 400) return { ...answer, body: request.path === '/graphql' ? body : complete(front, body) };
  const message = textAt(body, 'message');
  if (status === 403 && message === 'Forbidden' && request.principal.kind === 'installation')
    return notAccessible();
  if (status === 404) return failure(404, 'Not Found');
  return failure(status, message, errorsOf(body));
}

function errorsOf(body: Json): { errors?: Json } {
  const { errors } = asObject(body);
  return errors === undefined ? {} : { errors };
}

/** True when the fault has dealt with the request and nothing else is to be done. */
async function interrupt(
  fault: FaultEffect,
  entry: JournalEntry,
  response: ServerResponse,
): Promise<boolean> {
  entry.fault = fault.kind;
  if (fault.kind === 'hang') return true;
  if (fault.kind === 'drop-before-effect') {
    response.destroy();
    return true;
  }
  if (fault.kind === 'delay') await pause(fault.milliseconds);
  if (fault.kind !== 'answer') return false;
  const answer = failure(fault.status, fault.message ?? 'injected fault');
  entry.status = fault.status;
  write(response, { ...answer, headers: fault.headers ?? {} });
  return true;
}

async function receiveWebhook(
  front: Front,
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
): Promise<void> {
  const text = bytes.toString('utf8');
  const signature = String(request.headers['x-hub-signature-256'] ?? '');
  if (!front.relay.isSigned(text, signature)) return write(response, failure(400, 'emulate signed wrongly'));
  const event = String(request.headers['x-github-event'] ?? '');
  front.relay.track(async () => {
    const completed = await completeWebhook(front, event, asObject(parseJson(text)));
    return front.relay.deliver(completed.event, completed.payload, randomUUID(), false);
  });
  write(response, { status: 202 });
}
