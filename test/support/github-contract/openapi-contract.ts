// Checks requests and answers against GitHub's published OpenAPI description (fixtures/github).
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { asObject, at, isObject, type Json, type JsonObject, parseJson } from '../emulated-github/json.js';
import { COMPONENTS_ID, toJsonSchema } from './openapi-schema.js';

const DESCRIPTION = new URL('../../../fixtures/github/api.github.com.json.gz', import.meta.url);

/** One request and its answer; `path` is decoded, without query and without `/api/v3`. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly requestBody?: Json | undefined;
  readonly status: number;
  readonly responseBody?: Json | undefined;
}

/** What is wrong with one side of an exchange: `operation` is `GET /repos/{owner}/{repo}`, or the raw path. */
export interface ContractProblem {
  readonly operation: string;
  readonly side: 'request' | 'answer';
  readonly status: number;
  readonly problems: readonly string[];
}

interface Route {
  readonly template: string;
  readonly pattern: RegExp;
  readonly literalLength: number;
}

export class GitHubContract {
  readonly #description: JsonObject;
  readonly #ajv: Ajv;
  readonly #routes: readonly Route[];
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(description: JsonObject) {
    this.#description = description;
    this.#ajv = new Ajv({ strict: false, allErrors: true, logger: false });
    formats.default(this.#ajv);
    this.#ajv.addFormat('repo.nwo', /^[^/\s]+\/[^/\s]+$/);
    this.#ajv.addFormat('timestamp', true);
    this.#ajv.addSchema({
      $id: COMPONENTS_ID,
      components: toJsonSchema(asObject(description.components)),
    });
    this.#routes = Object.keys(asObject(description.paths))
      .map(toRoute)
      .sort((left, right) => right.literalLength - left.literalLength);
  }

  /** The description's name of an operation, such as `GET /repos/{owner}/{repo}`; undefined when it has none. */
  operationOf(method: string, path: string): string | undefined {
    const matching = this.#routes.filter((route) => route.pattern.test(path));
    const route = matching.find((candidate) => this.#operation(method, candidate.template) !== undefined);
    return route && `${method.toUpperCase()} ${route.template}`;
  }

  /** Problems of both sides of an exchange; an empty list when GitHub's description allows it. */
  check(exchange: Exchange): ContractProblem[] {
    const operation = this.operationOf(exchange.method, exchange.path);
    if (operation === undefined) {
      const name = `${exchange.method} ${exchange.path}`;
      const problems = ['no such operation in the pruned description (see prune-openapi.mjs)'];
      return [{ operation: name, side: 'request', status: exchange.status, problems }];
    }
    const found: ContractProblem[] = [];
    const add = (side: 'request' | 'answer', problems: string[]) => {
      if (problems.length > 0) found.push({ operation, side, status: exchange.status, problems });
    };
    // A request that GitHub refuses as invalid is allowed to be invalid: tests send such requests on purpose.
    if (exchange.status < 400) add('request', this.#requestProblems(operation, exchange.requestBody));
    add('answer', this.#answerProblems(operation, exchange));
    return found;
  }

  #operation(method: string, template: string): Json | undefined {
    return at(this.#description, 'paths', template, method.toLowerCase());
  }

  #requestProblems(operation: string, body: Json | undefined): string[] {
    const [method = '', template = ''] = operation.split(' ');
    const declared = at(this.#operation(method, template), 'requestBody');
    if (declared === undefined) return [];
    const schema = at(declared, 'content', 'application/json', 'schema');
    if (schema === undefined) return [];
    if (body === undefined) return at(declared, 'required') === true ? ['a body is required'] : [];
    return [
      ...unknownFields(schema, body, this.#description),
      ...this.#violations(`${operation} request`, schema, body),
    ];
  }

  #answerProblems(operation: string, exchange: Exchange): string[] {
    const [method = '', template = ''] = operation.split(' ');
    const { status, responseBody: body } = exchange;
    const declared = this.#resolve(at(this.#operation(method, template), 'responses', String(status)));
    if (declared === undefined) {
      if (status < 400) return [`status ${status} is not described`];
      return typeof at(body, 'message') === 'string' ? [] : ['an error answer carries a message'];
    }
    const content = asObject(at(declared, 'content'));
    const media = isObject(content['application/json']) ? content['application/json'] : undefined;
    const schema = at(media, 'schema');
    if (schema === undefined) return [];
    if (body === undefined) return status < 400 ? ['the body is missing or not JSON'] : [];
    return this.#violations(`${operation} ${status}`, schema, body);
  }

  #resolve(value: Json | undefined): Json | undefined {
    const reference = at(value, '$ref');
    if (typeof reference !== 'string') return value;
    return at(this.#description, ...reference.slice(2).split('/'));
  }

  #violations(name: string, schema: Json, body: Json): string[] {
    let validate = this.#compiled.get(name);
    if (validate === undefined) {
      validate = this.#ajv.compile(asObject(toJsonSchema(schema)));
      this.#compiled.set(name, validate);
    }
    if (validate(body)) return [];
    const lines = (validate.errors ?? []).map((error) => {
      const place = error.instancePath.replace(/\/\d+(?=\/|$)/g, '/*');
      return `${place || '/'} ${error.message ?? 'is invalid'}`;
    });
    return [...new Set(lines)].sort();
  }
}

// GitHub ignores fields it does not know, so the description allows them; in our requests they are typing mistakes.
function unknownFields(schema: Json, body: Json, description: JsonObject): string[] {
  const reference = at(schema, '$ref');
  const resolved = typeof reference === 'string' ? at(description, ...reference.slice(2).split('/')) : schema;
  const known = at(resolved, 'properties');
  if (!isObject(known) || !isObject(body) || at(resolved, 'oneOf') !== undefined) return [];
  if (at(resolved, 'additionalProperties') !== undefined) return [];
  return Object.keys(body)
    .filter((key) => known[key] === undefined)
    .map((key) => `/${key} is not a field of this request`);
}

function toRoute(template: string): Route {
  const source = template
    .split(/(\{[^}]+\})/)
    .map((part) => {
      if (!part.startsWith('{')) return part.replace(/[.*+?^$()|[\]\\]/g, '\\$&');
      return ['{path}', '{ref}', '{basehead}', '{branch}'].includes(part) ? '(.+)' : '([^/]+)';
    })
    .join('');
  const literalLength = template.replace(/\{[^}]+\}/g, '').length;
  return { template, pattern: new RegExp(`^${source}$`), literalLength };
}

/** Reads the description from fixtures/github; takes about 50 ms, schemas are compiled on first use. */
export function loadGitHubContract(): GitHubContract {
  const text = gunzipSync(readFileSync(DESCRIPTION)).toString('utf8');
  return new GitHubContract(asObject(parseJson(text)));
}
