import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  code,
  fenced,
  inline,
  message,
  plainLine,
  quoted,
  shorten,
  withoutMentions,
  withoutMiddle,
} from '../../src/publisher/hostile-text.js';

/** Pieces that are dangerous alone or joined. */
const NASTY = fc.constantFrom(
  '@acme/admins',
  '@',
  'Fixes #12',
  'closes ',
  'resolves GH-7',
  '#',
  '1',
  'acme/library#3',
  '<!-- hasten:run:status -->',
  '<!--',
  '-->',
  '<script>alert(1)</script>',
  '<img src=x>',
  '</details>',
  '&#64;octocat',
  '&lt;',
  '`',
  '```',
  '````',
  '~~~',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '|',
  '\\',
  '\\`',
  '[x](https://evil.example)',
  '![](https://evil.example/p.png)',
  'https://github.com/acme/library/issues/5',
  'www.evil.example',
  '\u202E',
  '\u200B',
  '\u0000',
  '\u2028',
  '\uD800',
  '😀',
  '- item',
  '1. item',
  '# head',
  '> quote',
  '---',
  '$x$',
  '**b**',
  '_i_',
  '    code',
  'Hasten-Run: other',
  ' ',
  'word',
);
const hostile = fc
  .array(fc.oneof(NASTY, fc.string({ maxLength: 8 })), { maxLength: 14 })
  .map((parts) => parts.join(''));

/** What a Markdown reader makes of inline text: backslash escapes and entities resolved. */
function rendered(markdown: string): string {
  return markdown
    .replace(/\\([!-/:-@[-`{-~])/g, '$1')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&');
}

const MENTION = /@[A-Za-z0-9]/;
const REFERENCE = /(#|gh-)[0-9]/i;
const LINK = /:\/\/|www\./i;

describe('inline text', () => {
  it('shows words as they are', () => {
    expect(inline('Sorting 400 versions takes 0.23 ms, 5% of it wasted')).toBe(
      'Sorting 400 versions takes 0.23 ms, 5% of it wasted',
    );
  });

  it('never mentions, references, links or starts Markdown or HTML', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const result = inline(text, 200);
        expect(result).not.toMatch(/[\n\r]/);
        expect(result).not.toMatch(/[<>]/);
        for (const shown of [result, rendered(result)]) {
          expect(shown).not.toMatch(MENTION);
          expect(shown).not.toMatch(REFERENCE);
          expect(shown).not.toMatch(LINK);
        }
        expect(result.replace(/\\[\\`*_{}[\]()#!|~$^.+=-]/g, '')).not.toMatch(/[\\`*_[\]#|~$^!]/);
        expect(result).not.toMatch(/^(?:[-+=>]|\d+[.)]|\s)/);
      }),
      { numRuns: 500 },
    );
  });

  it('shows what was written, apart from invisible characters and spaces', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 60 }), (text) => {
        const shown = rendered(inline(text, 1000)).replaceAll('\u200B', '');
        expect(shown).toBe(text.replace(/\s+/g, ' ').trim());
      }),
    );
  });
});

describe('plain lines', () => {
  it('never mention, reference, link or hold a line break', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const result = plainLine(text, 100);
        expect(result).not.toMatch(/[\p{Cc}\u2028-\u202E]/u);
        expect(result).not.toMatch(MENTION);
        expect(result).not.toMatch(REFERENCE);
        expect(result).not.toMatch(LINK);
        expect(result.replaceAll('\u200B', '').length).toBeLessThanOrEqual(100);
      }),
      { numRuns: 500 },
    );
  });
});

describe('code spans', () => {
  it('end where they should, on one line, in tables too', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const result = code(text, 100);
        expect(result).not.toMatch(/[\n\r]/);
        expect(result).not.toContain('<!-- hasten:');
        if (result.startsWith('<code>')) {
          expect(result).toMatch(/^<code>(?:[A-Za-z0-9 ]|&#\d+;)+<\/code>$/);
          return;
        }
        expect(result).not.toContain('|');
        if (result === '(empty)') return;
        const ticks = /^`+/.exec(result)?.[0] ?? '';
        const inner = result.slice(ticks.length, -ticks.length);
        expect(result.endsWith(ticks)).toBe(true);
        const runs = inner.match(/`+/g) ?? [];
        expect(runs.every((run) => run.length < ticks.length)).toBe(true);
        expect(inner.startsWith('`') || inner.endsWith('`')).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

describe('fenced blocks', () => {
  it('are closed by their last line only and hold no marker of ours', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const lines = fenced(text, 'diff', 1000).split('\n');
        const ticks = /^`+/.exec(lines[0] ?? '')?.[0] ?? '';
        expect(lines[0]).toBe(`${ticks}diff`);
        expect(lines.at(-1)).toBe(ticks);
        for (const line of lines.slice(1, -1)) {
          expect(line).not.toMatch(new RegExp(`^ {0,3}\`{${ticks.length},}\\s*$`));
        }
        expect(lines.join('\n')).not.toMatch(/<!--\s*hasten:/i);
      }),
      { numRuns: 500 },
    );
  });

  it('shows a diff as it is and makes reordering characters visible', () => {
    expect(fenced('-a\n+b\n', 'diff', 100)).toBe('```diff\n-a\n+b\n```');
    expect(fenced('+if (admin\u202E)', 'diff', 100)).toContain('+if (admin\\u{202e})');
  });

  it('leaves out the middle of long text and says how much', () => {
    const result = fenced(`head${'x'.repeat(5000)}tail`, 'text', 100);
    expect(result).toContain('head');
    expect(result).toContain('tail');
    expect(result).toContain('characters left out');
    expect(result.length).toBeLessThan(200);
  });
});

describe('quotes', () => {
  it('keep every line inside the quote', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        for (const line of quoted(text, 500).split('\n')) {
          if (line === '') continue;
          expect(line.startsWith('>')).toBe(true);
          expect(rendered(line)).not.toMatch(MENTION);
          expect(rendered(line)).not.toMatch(REFERENCE);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('bounds the number of lines', () => {
    expect(quoted('a\n'.repeat(1000), 10_000).split('\n').length).toBeLessThanOrEqual(41);
  });
});

describe('lengths', () => {
  it('are kept without cutting a character in two', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 50 }),
        fc.integer({ min: 1, max: 60 }),
        (text, max) => {
          const result = shorten(text, max);
          expect(result.length).toBeLessThanOrEqual(max);
          expect(result).not.toMatch(/\p{Surrogate}/u);
          expect(withoutMiddle(text, max)).not.toMatch(/\p{Surrogate}/u);
        },
      ),
    );
  });
});

it('shows a message of several lines as a block and one line as text', () => {
  expect(message('one *line*')).toBe('one \\*line\\*');
  expect(message('two\nlines')).toBe('```text\ntwo\nlines\n```');
});

it('takes the power of mentions and markers from Markdown of our own', () => {
  expect(withoutMentions('**ok** @octocat <!-- hasten:x -->')).toBe(
    '**ok** @\u200Boctocat <!\u200B-- hasten:x -->',
  );
});
