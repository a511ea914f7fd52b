import { describe, expect, it } from 'vitest';
import { BugError, PeerError, UserError } from '../../src/domain/errors.js';
import { callGithub, githubError } from '../../src/publisher/github-errors.js';

const WORDS = { what: 'create the branch hasten/x', permission: 'contents: write' };

/** The shape of octokit's RequestError; the real one is met in the integration tests. */
function failure(status: number, headers: Record<string, string> = {}, message = 'Nope'): Error {
  return Object.assign(new Error(message), {
    name: 'HttpError',
    status,
    request: { method: 'POST', headers: { authorization: 'token ghs_secret' } },
    response: { status, headers, data: {} },
  });
}

function mapped(error: unknown): unknown {
  return githubError(error, WORDS);
}

describe('refusals of GitHub', () => {
  it.each([500, 502, 503, 401, 408, 409])('pass by themselves: %i', (status) => {
    const error = mapped(failure(status));
    expect(error).toBeInstanceOf(PeerError);
    expect(error).toMatchObject({ code: 'GITHUB_UNAVAILABLE', retryable: true });
  });

  it('wait as long as retry-after says', () => {
    for (const status of [429, 403, 503]) {
      expect(mapped(failure(status, { 'retry-after': '7' }))).toMatchObject({
        retryAfterMs: 7000,
        retryable: true,
      });
    }
  });

  it("wait for the reset of an empty primary limit on GitHub's clock", () => {
    const headers = {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Date.UTC(2026, 0, 1, 0, 5) / 1000),
      date: new Date(Date.UTC(2026, 0, 1, 0, 0)).toUTCString(),
    };
    expect(mapped(failure(403, headers))).toMatchObject({
      code: 'GITHUB_RATE_LIMITED',
      retryAfterMs: 300_000,
    });
  });

  it('wait a minute for a secondary limit without a time', () => {
    const error = mapped(failure(403, {}, 'You have exceeded a secondary rate limit'));
    expect(error).toMatchObject({ code: 'GITHUB_RATE_LIMITED', retryAfterMs: 60_000 });
  });

  it.each([
    [403, 'GITHUB_FORBIDDEN'],
    [404, 'GITHUB_NOT_FOUND'],
    [410, 'GITHUB_NOT_FOUND'],
  ])('name the permission that is missing: %i', (status, code) => {
    const error = mapped(failure(status));
    expect(error).toBeInstanceOf(UserError);
    expect(error).toMatchObject({ code });
    expect(String(error)).toContain('contents: write');
  });

  it('count as our bug when the request was invalid', () => {
    expect(mapped(failure(422))).toBeInstanceOf(BugError);
  });

  it('hold no token', () => {
    expect(String(mapped(failure(500)))).not.toContain('ghs_secret');
  });

  it('are read from GraphQL answers too', () => {
    const graph = (type: string) =>
      Object.assign(new Error('x'), { name: 'GraphqlResponseError', errors: [{ type, message: 'said' }] });
    expect(mapped(graph('FORBIDDEN'))).toBeInstanceOf(UserError);
    expect(mapped(graph('RATE_LIMITED'))).toMatchObject({ retryAfterMs: 60_000 });
    expect(mapped(graph('INTERNAL'))).toBeInstanceOf(PeerError);
  });

  it('leave aborts, our own errors and unknown ones as they are', async () => {
    const abort = new DOMException('aborted', 'AbortError');
    const own = new PeerError({ code: 'X', message: 'x' });
    const unknown = new RangeError('x');
    for (const error of [abort, own, unknown]) {
      await expect(callGithub(WORDS, () => Promise.reject(error))).rejects.toBe(error);
    }
  });
});
