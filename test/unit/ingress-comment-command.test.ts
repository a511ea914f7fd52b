import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCommentCommand } from '../../src/ingress/comment-command.js';

const names = ['approve', 'reject', 'cancel', 'status'] as const;
/** Words that Markdown shows as they are. */
const word = fc.stringMatching(/^[a-z0-9.,!?]{1,12}$/);
const words = fc.array(word, { minLength: 1, maxLength: 6 }).map((list) => list.join(' '));
/** Text around a command that neither hides it nor is one. */
const prose = fc.array(fc.oneof(words, fc.constant('')), { maxLength: 5 }).map((lines) => lines.join('\n'));

describe('parseCommentCommand', () => {
  it('finds run with and without a hint', () => {
    expect(parseCommentCommand('/hasten run')).toEqual({ kind: 'run', hint: null });
    expect(parseCommentCommand('  /hasten   run  look at parse() \r\nthanks')).toEqual({
      kind: 'run',
      hint: 'look at parse()',
    });
  });

  it('finds each command of a person, whatever the case, wherever its line is in plain text', () => {
    fc.assert(
      fc.property(
        prose,
        prose,
        fc.constantFrom(...names),
        fc.option(words),
        fc.boolean(),
        (before, after, name, text, upper) => {
          const line = `/hasten ${upper ? name.toUpperCase() : name}${text === null ? '' : ` ${text}`}`;
          expect(parseCommentCommand(`${before}\n${line}\n${after}`)).toEqual({
            kind: 'command',
            name,
            text,
          });
        },
      ),
    );
  });

  it('never finds a command in quotes, code blocks, hidden text or inside of a sentence', () => {
    const hidden = fc.constantFrom(
      (line: string) => `> ${line}`,
      (line: string) => `> quoted\n${line}`,
      (line: string) => `\`\`\`\n${line}\n\`\`\``,
      (line: string) => `~~~~ sh\n~~~\n${line}\n~~~~`,
      (line: string) => `\`\`\`\`\n\`\`\`\n${line}`,
      (line: string) => `    ${line}`,
      (line: string) => `\t${line}`,
      (line: string) => `<!--\n${line}\n-->`,
      (line: string) => `<!-- never closed\n${line}`,
      (line: string) => `<pre>\n${line}\n</pre>`,
      (line: string) => `please ${line}`,
      (line: string) => `- ${line}`,
      (line: string) => `\`${line}\``,
    );
    fc.assert(
      fc.property(hidden, prose, fc.constantFrom('run', ...names), (hide, before, name) => {
        expect(parseCommentCommand(`${before}\n\n${hide(`/hasten ${name}`)}`)).toEqual({ kind: 'none' });
      }),
    );
  });

  it('takes a command after a quote, a closed code block and a hidden remark', () => {
    for (const before of [
      '> quoted\n',
      '```\n/hasten cancel\n```',
      '<!-- /hasten cancel -->',
      '`<code>` here',
    ]) {
      expect(parseCommentCommand(`${before}\n/hasten approve`)).toMatchObject({ name: 'approve' });
    }
  });

  it('tells unknown words and several commands apart from no command', () => {
    expect(parseCommentCommand('/hasten')).toEqual({ kind: 'unknown', word: null });
    expect(parseCommentCommand('/hasten merge now')).toEqual({ kind: 'unknown', word: 'merge' });
    expect(parseCommentCommand('/hasten approve\n/hasten reject')).toEqual({ kind: 'several' });
    expect(parseCommentCommand('/hastening approve')).toEqual({ kind: 'none' });
    expect(parseCommentCommand('/other approve')).toEqual({ kind: 'none' });
    expect(parseCommentCommand('')).toEqual({ kind: 'none' });
  });

  it('bounds what it keeps of any text and never throws', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), fc.string({ maxLength: 3000 }), (before, rest) => {
        const found = parseCommentCommand(`${before}\n/hasten run ${rest}`);
        if (found.kind === 'run') expect((found.hint ?? '').length).toBeLessThanOrEqual(1000);
      }),
    );
    const hostile = `${'<!--'.repeat(20_000)}${'<pre'.repeat(20_000)}${'`'.repeat(20_000)}`;
    const started = performance.now();
    parseCommentCommand(hostile);
    expect(performance.now() - started).toBeLessThan(500);
  });
});
