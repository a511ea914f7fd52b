// The front's route table: which requests it answers itself before emulate sees them.
import type { Answer } from './answer.js';
import type { Front, FrontRequest } from './front.js';

export type Handler = (front: Front, request: FrontRequest) => Promise<Answer>;

interface Route {
  readonly method: string;
  readonly pattern: RegExp;
  readonly names: readonly string[];
  readonly handler: Handler;
}

export class RouteTable {
  readonly #routes: Route[] = [];

  /** Adds a handler for a template such as `/repos/:owner/:repo/git/refs/*ref`; the first that matches wins. */
  on(method: string, template: string, handler: Handler): void {
    const names: string[] = [];
    const source = template
      .split('/')
      .map((part) => {
        if (part.startsWith(':') || part.startsWith('*')) names.push(part.slice(1));
        if (part.startsWith(':')) return '([^/]+)';
        return part.startsWith('*') ? '(.+)' : part.replace(/[.+?^$()|[\]\\]/g, '\\$&');
      })
      .join('/');
    this.#routes.push({ method, pattern: new RegExp(`^${source}$`), names, handler });
  }

  /** The handler of a request and the values of its template's parts. */
  find(method: string, path: string): { handler: Handler; params: Record<string, string> } | undefined {
    for (const route of this.#routes) {
      const match = route.method === method ? route.pattern.exec(path) : null;
      if (match === null) continue;
      const params = Object.fromEntries(route.names.map((name, index) => [name, match[index + 1] ?? '']));
      return { handler: route.handler, params };
    }
    return undefined;
  }
}

/** `owner/name` of a request whose route names both. */
export function fullNameOf(request: FrontRequest): string {
  return `${request.params.owner ?? ''}/${request.params.repo ?? ''}`;
}
