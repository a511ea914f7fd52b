import { describe, expect, it } from 'vitest';
import { PeerError } from '../../src/domain/errors.js';
import { githubFailure, NotThere } from '../../src/ingress/github-failure.js';

const NOW = 1_796_000_000_000;

function failure(status: number, headers: Record<string, string> = {}, message = 'no'): NotThere | PeerError {
  return githubFailure(Object.assign(new Error(message), { status, response: { headers } }), 'issue 1', NOW);
}

describe('githubFailure', () => {
  it('takes what is gone, forbidden, empty or not granted as not there', () => {
    for (const status of [403, 404, 409, 410, 422, 451]) expect(failure(status)).toBeInstanceOf(NotThere);
  });

  it('takes outages, limits and refused credentials as errors to try again after', () => {
    const cases: [NotThere | PeerError, string, number | null][] = [
      [failure(502), 'GITHUB_FAILED', null],
      [failure(503, { 'retry-after': '3' }), 'GITHUB_FAILED', 3000],
      [failure(500), 'GITHUB_UNREACHABLE', null],
      [failure(401), 'GITHUB_CREDENTIALS_REFUSED', null],
      [failure(429), 'GITHUB_RATE_LIMITED', 60_000],
      [failure(429, { 'retry-after': '5' }), 'GITHUB_RATE_LIMITED', 5000],
      [failure(403, { 'retry-after': '8' }), 'GITHUB_RATE_LIMITED', 8000],
      [failure(403, {}, 'You have exceeded a secondary rate limit'), 'GITHUB_RATE_LIMITED', 60_000],
      [
        failure(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW / 1000 + 90) }),
        'GITHUB_RATE_LIMITED',
        90_000,
      ],
      [githubFailure(new TypeError('fetch failed'), 'issue 1', NOW), 'GITHUB_UNREACHABLE', null],
      [githubFailure('odd', 'issue 1', NOW), 'GITHUB_UNREACHABLE', null],
    ];
    for (const [error, code, retryAfterMs] of cases) {
      expect(error).toBeInstanceOf(PeerError);
      expect(error).toMatchObject({ code, retryAfterMs, retryable: true });
    }
  });
});
