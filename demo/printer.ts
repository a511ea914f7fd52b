/** How the demo shows a run: as text for people, or as one JSON object per line. */
import type { LogEntry } from '../test/support/stage.js';

export interface DemoPrinter {
  intro(facts: { readonly subject: string; readonly repository: string; readonly model: string }): void;
  line(text: string): void;
  /** One entry of the service's log. */
  entry(entry: LogEntry): void;
  pullRequest(pull: {
    readonly number: number;
    readonly title: string;
    readonly body: string;
    readonly draft: boolean;
    readonly diffStat: string;
  }): void;
  comment(body: string): void;
  result(result: object): void;
}

/** Prints to people: seconds since the start, the state, what it does. */
export function textPrinter(print: (line: string) => void): DemoPrinter {
  const started = Date.now();
  let state = 'listening';
  const stamp = (): string => `${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s`;
  return {
    intro({ subject, repository, model }) {
      print(`subject     ${subject}`);
      print(`repository  ${repository} (emulated GitHub)`);
      print(`model       ${model}`);
      print('');
    },
    line: (text) => print(`${stamp()}  ${state.padEnd(11)} ${text}`),
    entry(entry) {
      if (entry.transition !== undefined) {
        if (entry.transition.to !== state) {
          state = entry.transition.to;
          const spent = entry.spentUsd === undefined ? '' : `$${entry.spentUsd.toFixed(4)} spent`;
          print(
            `${stamp()}  ${state.padEnd(11)} ${[entry.reason, spent].filter(Boolean).join(' · ')}`.trimEnd(),
          );
        }
        return;
      }
      if (entry.progress !== undefined)
        print(`${stamp()}  ${state.padEnd(11)} ${entry.kind ?? ''}: ${entry.progress}`);
      else if (entry.level >= 40) print(`${stamp()}  ${state.padEnd(11)} warning: ${entry.msg}`);
    },
    pullRequest({ number, title, body, draft, diffStat }) {
      print(`\npull request #${number}${draft ? ' (draft)' : ''}: ${title}\n`);
      print(body);
      print(`\n${diffStat}\n`);
    },
    comment: (body) => print(`\nno pull request; the comment on the issue says:\n\n${body}\n`),
    result: (result) => print(`result: ${JSON.stringify(result)}`),
  };
}

/** Prints one JSON object per line; the last one has `type: "result"`. */
export function jsonPrinter(print: (line: string) => void): DemoPrinter {
  const emit = (type: string, fields: object): void =>
    print(JSON.stringify({ type, at: Date.now(), ...fields }));
  return {
    intro: (facts) => emit('intro', facts),
    line: (text) => emit('line', { text }),
    entry(entry) {
      if (entry.transition !== undefined) {
        emit('transition', {
          ...entry.transition,
          run: entry.run,
          outcome: entry.outcome,
          reason: entry.reason,
        });
      } else if (entry.progress !== undefined) {
        emit('progress', { kind: entry.kind, run: entry.run, text: entry.progress });
      } else if (entry.level >= 40) {
        emit('warning', { text: entry.msg });
      }
    },
    pullRequest: (pull) => emit('pull-request', pull),
    comment: (body) => emit('comment', { body }),
    result: (result) => emit('result', result),
  };
}
