// Checks what the emulated GitHub has recorded: the product's requests and the rig's own answers.
import type { JournalEntry } from '../emulated-github/journal.js';
import { type ContractProblem, type GitHubContract } from './openapi-contract.js';

/**
 * Answers of emulate that GitHub's description does not allow and that the front does not repair: operation and
 * status, with the exact problems. A problem that is missing here fails a test, and so does one that is gone.
 */
export const KNOWN_INVALID_ANSWERS: Readonly<Record<string, readonly string[]>> = {};

/** Problems of the recorded REST requests and answers, each kind once; the known ones are left out. */
export function checkJournal(contract: GitHubContract, entries: readonly JournalEntry[]): ContractProblem[] {
  const found = new Map<string, ContractProblem>();
  for (const entry of entries) {
    if (entry.status === undefined || entry.fault !== undefined || !isRest(entry.path)) continue;
    const exchange = { ...entry, status: entry.status };
    for (const problem of contract.check(exchange)) {
      if (problem.side === 'answer' && isOtherMedia(entry)) continue;
      const name = `${problem.operation} ${problem.status}`;
      const known = problem.side === 'answer' ? (KNOWN_INVALID_ANSWERS[name] ?? []) : [];
      const problems = problem.problems.filter((text) => !known.includes(text));
      if (problems.length > 0) found.set(`${problem.side} ${name} ${problems.join()}`, { ...problem, problems });
    }
  }
  return [...found.values()];
}

function isRest(path: string): boolean {
  return path !== '/graphql' && !/\/(info\/refs|git-upload-pack|git-receive-pack)$/.test(path);
}

// Diffs and raw contents are no JSON.
function isOtherMedia(entry: JournalEntry): boolean {
  return /vnd\.github(\.v3)?\.(raw|diff|patch)/.test(entry.accept) && entry.responseBody === undefined;
}
