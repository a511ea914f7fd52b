// Bytes in and out of the front's server: bodies, GitHub's headers, GitHub Enterprise Server's paths.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from './answer.js';
import type { Front } from './front.js';

const LARGEST_BODY = 128 * 1024 * 1024;
const HOURLY_CALLS = 5000;

/** Splits GitHub Enterprise Server's prefix from a path. */
export function unmount(path: string): { mount: string; path: string } {
  if (path === '/api/graphql') return { mount: '/api', path: '/graphql' };
  if (path.startsWith('/api/v3/')) return { mount: '/api/v3', path: path.slice('/api/v3'.length) };
  return { mount: '', path };
}

/** A path without percent signs; as it is when they are malformed. */
export function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The answer with the headers that GitHub puts on every one. */
export function withGitHubHeaders(front: Front, answer: Answer, mount: string): Answer {
  const headers: Record<string, string> = {
    'x-ratelimit-limit': String(HOURLY_CALLS),
    'x-ratelimit-remaining': String(Math.max(0, HOURLY_CALLS - front.journal.length)),
    'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 3600),
    'x-ratelimit-resource': 'core',
    ...answer.headers,
    server: 'github.com',
    'x-github-request-id': randomUUID().slice(0, 18).toUpperCase(),
    'x-github-media-type': 'github.v3; format=json',
  };
  const [limit, remaining] = [headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']];
  if (limit !== undefined && remaining !== undefined) {
    headers['x-ratelimit-used'] = String(Number(limit) - Number(remaining));
  }
  if (mount === '/api/v3' && headers.link !== undefined) {
    headers.link = headers.link.replaceAll(`<${front.url}/`, `<${front.url}/api/v3/`);
  }
  return { ...answer, headers };
}

/** One value for each header of a request. */
export function singleHeaders(request: IncomingMessage): Record<string, string | undefined> {
  const entries = Object.entries(request.headers);
  return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]));
}

/** The whole body of a request. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    size += bytes.length;
    if (size > LARGEST_BODY) throw new Error('request body too large for the rig');
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

/** Sends an answer; a HEAD request gets its headers alone. */
export function write(response: ServerResponse, answer: Answer, headOnly = false): void {
  const { body } = answer;
  const bytes = Buffer.isBuffer(body)
    ? body
    : body === undefined
      ? undefined
      : Buffer.from(JSON.stringify(body));
  const headers: Record<string, string | number> = { ...answer.headers };
  if (bytes !== undefined) {
    if (!Buffer.isBuffer(body)) headers['content-type'] = 'application/json; charset=utf-8';
    headers['content-length'] = bytes.length;
  }
  response.writeHead(answer.status, headers);
  response.end(headOnly ? undefined : bytes);
}
