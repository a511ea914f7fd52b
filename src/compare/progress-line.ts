/** What a comparison does meanwhile, on standard error: one rewritten line on a terminal, plain lines elsewhere. */

/** The part of a stream that is written to. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface ProgressLine {
  /** What is being done now. */
  show(text: string): void;
  /** A line that stays. */
  note(text: string): void;
  /** Clears what was rewritten. */
  clear(): void;
}

const ERASE = '\r\u001b[2K';
const DEFAULT_COLUMNS = 80;

export function createProgressLine(stream: ProgressStream): ProgressLine {
  const isTerminal = stream.isTTY === true;
  let last = '';
  return {
    show(text) {
      const line = oneLine(text);
      if (line === last) return;
      last = line;
      const width = Math.max(10, (stream.columns ?? DEFAULT_COLUMNS) - 1);
      stream.write(isTerminal ? `${ERASE}${line.slice(0, width)}` : `${line}\n`);
    },
    note(text) {
      stream.write(isTerminal ? `${ERASE}${oneLine(text)}\n` : `${oneLine(text)}\n`);
    },
    clear() {
      if (isTerminal && last !== '') stream.write(ERASE);
      last = '';
    },
  };
}

/** Names of workloads come from the benchmark and must not steer the terminal. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').trim();
}
