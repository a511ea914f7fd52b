/** Runs a benchmark's command in an arm through the runner, held against the kernel's books. */
import { armWord, type ObservedArm, type ObserverOptions } from './benchmark-observer.js';
import { expectBooked } from './booked-cpu.js';
import {
  type CommandAnswer,
  type CommandRequest,
  commandArgv,
  readCommandAnswer,
} from './command-protocol.js';

export interface CommandToRun extends ObserverOptions {
  readonly command: string;
  /** File that is read after each run; null for none. */
  readonly file: string | null;
  /** Bytes kept of standard output and of the file. */
  readonly keptBytes: number;
}

/** One process of the runner with `runs` runs of the command. Throws StepFailed when a run does not succeed. */
export async function runInArm(
  observed: ObservedArm,
  { command, file, keptBytes, nonce: nextNonce, timeoutMs }: CommandToRun,
  runs: number,
): Promise<CommandAnswer> {
  const { arm, name } = observed;
  const { workspace, harness, scratch = [] } = arm.paths;
  const nonce = nextNonce();
  const request: CommandRequest = { nonce, command, workspace, scratch, runs, file, keptBytes };
  // JSON writes no character in more than six bytes.
  const outputBytes = 2 * 6 * keptBytes + 65_536;
  const result = await arm.exec(commandArgv(harness), {
    timeoutMs,
    stdin: JSON.stringify(request),
    outputBytes,
  });
  const answer = readCommandAnswer(result, nonce, armWord(name));
  const usedUs = answer.runs.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
  await expectBooked(observed, {
    workload: command,
    claimedUs: usedUs + answer.ownCpuUs,
    leastUs: usedUs,
  });
  return answer;
}
