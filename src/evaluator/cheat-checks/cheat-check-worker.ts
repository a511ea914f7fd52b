/** The checks in a thread of their own; started by run-cheat-checks.ts, which gives the sources and takes the findings. */
import { parentPort, workerData } from 'node:worker_threads';
import type { CheatContext, SourceChange } from './cheat-finding.js';
import { findCheats } from './find-cheats.js';

const { changes, context }: { changes: readonly SourceChange[]; context: CheatContext } = workerData;
parentPort?.postMessage(findCheats(changes, context));
