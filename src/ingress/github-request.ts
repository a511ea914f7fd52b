/** One request to GitHub: bounded in time, its answer checked, its failure sorted. */
import type { ProbotOctokit } from 'probot';
import type { z } from 'zod';
import { PeerError } from '../domain/errors.js';
import { githubFailure } from './github-failure.js';

/** One question to GitHub. */
export interface GithubQuestion<T> {
  /** For example `GET /repos/{owner}/{repo}`. */
  readonly route: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly answer: z.ZodType<T>;
  /** The question in words, for errors. */
  readonly what: string;
}

const REQUEST_TIMEOUT_MS = 15_000;

/**
 * Asks and gives the checked answer; `now` is epoch milliseconds. Throws NotThere, PeerError
 * (`GITHUB_ANSWER_UNEXPECTED` when the answer has another shape), or the signal's reason.
 */
export async function askGithub<T>(
  octokit: ProbotOctokit,
  question: GithubQuestion<T>,
  signal: AbortSignal,
  now: () => number,
): Promise<T> {
  signal.throwIfAborted();
  const parsed = question.answer.safeParse(await dataOf(octokit, question, signal, now));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new PeerError({
    code: 'GITHUB_ANSWER_UNEXPECTED',
    message: `GitHub's answer for ${question.what} is not as documented: ${issue?.path.map(String).join('.')}: ${issue?.message}.`,
    retryable: false,
  });
}

async function dataOf(
  octokit: ProbotOctokit,
  { route, parameters, what }: Omit<GithubQuestion<unknown>, 'answer'>,
  signal: AbortSignal,
  now: () => number,
): Promise<unknown> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
  try {
    const { data } = await octokit.request(route, { ...parameters, request: { signal: until } });
    return data;
  } catch (error) {
    signal.throwIfAborted();
    throw githubFailure(error, what, now());
  }
}
