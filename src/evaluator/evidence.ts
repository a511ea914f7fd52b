/** Bounded text out of command output, for people and for recovering. */
import type { CommandResult } from '../domain/sandbox.js';

/** Characters of evidence that go into an event. */
export const EVIDENCE_CHARS = 8000;

/** At most `limit` characters: two thirds from the end, where runners sum up, the rest from the start. */
export function clipped(text: string, limit: number = EVIDENCE_CHARS): string {
  if (text.length <= limit) return text;
  const tail = Math.floor((limit * 2) / 3);
  const left = text.length - limit;
  return `${text.slice(0, limit - tail)}\n… ${left} characters left out …\n${text.slice(-tail)}`;
}

/** How a command ended, in words. */
export function outcomeOf(result: CommandResult): string {
  switch (result.outcome) {
    case 'exited':
      return `ended with exit code ${result.exitCode}`;
    case 'timed-out':
      return `was stopped at its deadline after ${Math.round(result.wallMs / 1000)} s`;
    case 'flooded':
      return 'was stopped because it wrote too much';
    case 'out-of-memory':
      return 'ran out of memory';
  }
}

/** Title, command, how it ended, and the output. */
export function commandEvidence(title: string, command: string, result: CommandResult): string {
  const output = [result.stdout.text, result.stderr.text].filter((text) => text.trim() !== '').join('\n');
  return clipped(`${title}\n$ ${command}\n${output}\n(${outcomeOf(result)})`);
}

export function succeeded(result: CommandResult): boolean {
  return result.outcome === 'exited' && result.exitCode === 0;
}
