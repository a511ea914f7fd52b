// The App's own endpoints: installation tokens, its repositories, and the deliveries of its webhook.
import { type Answer, failure, json, notAccessible, notFound } from './answer.js';
import { describeApp } from './complete-answer.js';
import type { Front, FrontRequest } from './front.js';
import type { RouteTable } from './front-routes.js';
import { asObject, asObjects, isObject, type JsonObject, textAt } from './json.js';
import { covers } from './principals.js';

export function addAppRoutes(routes: RouteTable): void {
  routes.on('GET', '/app', getApp);
  routes.on('POST', '/app/installations/:id/access_tokens', createToken);
  routes.on('DELETE', '/installation/token', revokeToken);
  routes.on('GET', '/installation/repositories', listRepositories);
  routes.on('GET', '/app/hook/config', async (front) => json(200, front.relay.config()));
  routes.on('GET', '/app/hook/deliveries', listDeliveries);
  routes.on('GET', '/app/hook/deliveries/:id', getDelivery);
  routes.on('POST', '/app/hook/deliveries/:id/attempts', redeliver);
}

async function getApp(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (answer.status !== 200) return answer;
  return json(200, { ...describeApp(front), installations_count: front.seed.app.installations.length });
}

async function createToken(front: Front, request: FrontRequest): Promise<Answer> {
  const answer = await front.forward(request);
  if (answer.status !== 201 || Buffer.isBuffer(answer.body) || !isObject(answer.body)) return answer;
  front.principals.learn(Number(request.params.id), answer.body);
  const names = asObjects(answer.body.repositories).map((repository) => textAt(repository, 'full_name'));
  if (names.length === 0) return answer;
  return { ...answer, body: { ...answer.body, repositories: await describeRepositories(front, names) } };
}

async function describeRepositories(front: Front, fullNames: readonly string[]): Promise<JsonObject[]> {
  const described: JsonObject[] = [];
  for (const fullName of fullNames) {
    described.push(asObject((await front.ask('GET', `/repos/${fullName}`)).json));
  }
  return described;
}

async function revokeToken(front: Front, request: FrontRequest): Promise<Answer> {
  const { principal } = request;
  if (principal.kind !== 'installation') return notAccessible();
  front.principals.revoke(principal.token);
  return { status: 204 };
}

async function listRepositories(front: Front, request: FrontRequest): Promise<Answer> {
  const { principal } = request;
  if (principal.kind !== 'installation')
    return failure(403, 'You must authenticate with an installation token');
  const names = front.repositories.filter((fullName) => covers(principal, fullName));
  const { slice, headers } = paginate(front, request, names);
  const repositories = await describeRepositories(front, slice);
  const selection = principal.repositories === 'all' ? 'all' : 'selected';
  const body = { total_count: names.length, repository_selection: selection, repositories };
  return { status: 200, headers, body };
}

// Deliveries are paged by a cursor, newest first; the cursor here is the id below which the next page starts.
async function listDeliveries(front: Front, request: FrontRequest): Promise<Answer> {
  const size = Number(request.query.get('per_page') ?? 30);
  const below = Number(request.query.get('cursor') ?? Number.POSITIVE_INFINITY);
  const rest = [...front.relay.deliveries()].reverse().filter((delivery) => delivery.id < below);
  const page = rest.slice(0, size);
  const next = rest.length > size ? page.at(-1) : undefined;
  const link = `<${front.url}/app/hook/deliveries?per_page=${size}&cursor=${next?.id}>; rel="next"`;
  const body = page.map((delivery) => front.relay.describe(delivery, false));
  return { status: 200, headers: next === undefined ? {} : { link }, body };
}

async function getDelivery(front: Front, request: FrontRequest): Promise<Answer> {
  const delivery = front.relay.deliveries().find((entry) => entry.id === Number(request.params.id));
  return delivery === undefined ? notFound() : json(200, front.relay.describe(delivery, true));
}

async function redeliver(front: Front, request: FrontRequest): Promise<Answer> {
  const delivery = front.relay.deliveries().find((entry) => entry.id === Number(request.params.id));
  if (delivery === undefined) return notFound();
  front.relay.track(() => front.relay.deliver(delivery.event, delivery.payload, delivery.guid, true));
  return json(202, {});
}

/** One page of a list by `page` and `per_page`, with GitHub's Link header. */
export function paginate<T>(
  front: Front,
  request: FrontRequest,
  entries: readonly T[],
): { slice: readonly T[]; headers: Record<string, string> } {
  const size = Math.min(100, Math.max(1, Number(request.query.get('per_page') ?? 30) || 30));
  const page = Math.max(1, Number(request.query.get('page') ?? 1) || 1);
  const last = Math.max(1, Math.ceil(entries.length / size));
  const link = (number: number, rel: string) => {
    const query = new URLSearchParams(request.query);
    query.set('page', String(number));
    query.set('per_page', String(size));
    return `<${front.url}${request.path}?${query}>; rel="${rel}"`;
  };
  const links: string[] = [];
  if (page < last) links.push(link(page + 1, 'next'), link(last, 'last'));
  if (page > 1) links.push(link(page - 1, 'prev'), link(1, 'first'));
  const headers: Record<string, string> = links.length > 0 ? { link: links.join(', ') } : {};
  return { slice: entries.slice((page - 1) * size, page * size), headers };
}
