// Checks what the emulated GitHub has recorded: the product's requests and the rig's own answers.
import type { JournalEntry } from '../emulated-github/journal.js';
import { textAt } from '../emulated-github/json.js';
import type { ContractProblem, GitHubContract } from './openapi-contract.js';

/**
 * Answers that GitHub's description does not allow and that the front does not repair: operation and status, with
 * the exact problems. Any other problem of such an answer is reported, and so is one that is gone.
 */
export const KNOWN_INVALID_ANSWERS: Readonly<Record<string, readonly string[]>> = {
  // The description demands an account that is a user and an enterprise at once; GitHub sends a user.
  'GET /app/installations 200': [
    '/*/account must be null',
    "/*/account must have required property 'created_at'",
    "/*/account must have required property 'name'",
    "/*/account must have required property 'slug'",
    "/*/account must have required property 'updated_at'",
    '/*/account must match a schema in anyOf',
  ],
};

/** Problems of the recorded REST requests and answers, each kind once; the known ones are left out. */
export function checkJournal(contract: GitHubContract, entries: readonly JournalEntry[]): ContractProblem[] {
  const found = new Map<string, ContractProblem>();
  for (const entry of entries) {
    const { status } = entry;
    if (status === undefined || entry.fault !== undefined || !isRest(entry.path)) continue;
    for (const problem of [
      ...contract.check({ ...entry, status }),
      ...goneProblems(contract, entry, status),
      ...ownFailures(entry, status),
    ]) {
      if (problem.side === 'answer' && (isOtherMedia(entry) || isKnown(problem))) continue;
      const name = `${problem.side} ${problem.operation} ${problem.status}`;
      found.set(`${name} ${problem.problems.join()}`, problem);
    }
  }
  return [...found.values()];
}

function isKnown(problem: ContractProblem): boolean {
  const known = KNOWN_INVALID_ANSWERS[`${problem.operation} ${problem.status}`];
  return known !== undefined && problem.problems.join() === known.join();
}

/** A known problem that an answer no longer has: the list above is then out of date. */
function goneProblems(contract: GitHubContract, entry: JournalEntry, status: number): ContractProblem[] {
  const operation = contract.operationOf(entry.method, entry.path) ?? '';
  if (KNOWN_INVALID_ANSWERS[`${operation} ${status}`] === undefined) return [];
  const isInvalid = contract.check({ ...entry, status }).some((problem) => problem.side === 'answer');
  const problems = ['the known problems of this answer are gone'];
  return isInvalid ? [] : [{ operation, side: 'answer', status, problems }];
}

/** A mistake of the rig itself is never an answer of GitHub. */
function ownFailures(entry: JournalEntry, status: number): ContractProblem[] {
  if (status < 500) return [];
  const operation = `${entry.method} ${entry.path}`;
  return [{ operation, side: 'answer', status, problems: [textAt(entry.responseBody, 'message')] }];
}

function isRest(path: string): boolean {
  return path !== '/graphql' && !/\/(info\/refs|git-upload-pack|git-receive-pack)$/.test(path);
}

// Diffs and raw contents are no JSON.
function isOtherMedia(entry: JournalEntry): boolean {
  return /vnd\.github(\.v3)?\.(raw|diff|patch)/.test(entry.accept) && entry.responseBody === undefined;
}
