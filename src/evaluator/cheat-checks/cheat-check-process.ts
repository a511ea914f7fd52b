/** The checks as a process of their own, started by run-cheat-checks.ts: a question on stdin, the findings on stdout. */
import { text } from 'node:stream/consumers';
import type { CheatContext, SourceChange } from './cheat-finding.js';
import { findCheats } from './find-cheats.js';

const question: { changes: readonly SourceChange[]; context: CheatContext } = JSON.parse(
  await text(process.stdin),
);
process.stdout.write(JSON.stringify(findCheats(question.changes, question.context)));
