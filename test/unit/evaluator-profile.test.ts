import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CommandResult } from '../../src/domain/sandbox.js';
import { readProfile } from '../../src/evaluator/profile.js';

function answered(...lines: readonly object[]): CommandResult {
  const text = lines.map((line) => JSON.stringify(line)).join('\n');
  const output = (of: string) => ({ text: of, totalBytes: of.length, truncated: false });
  return { outcome: 'exited', exitCode: 0, stdout: output(text), stderr: output(''), wallMs: 1 };
}

const hot = { name: 'visit', file: 'index.js', line: 27, share: 0.44 };

describe('the answer of a profile', () => {
  it('gives the hottest functions, most first', () => {
    const functions = [hot, { ...hot, name: 'other', share: 0.5 }];
    const read = readProfile(answered({ nonce: 'n', ok: true, functions }), 'n');
    expect(read.map(({ name }) => name)).toEqual(['other', 'visit']);
  });

  it.each([
    ['of another nonce', answered({ nonce: 'm', ok: true, functions: [hot] })],
    ['that comes twice', answered(...Array(2).fill({ nonce: 'n', ok: true, functions: [hot] }))],
    ['that says it failed', answered({ nonce: 'n', ok: false, message: 'no' })],
    ['with impossible shares', answered({ nonce: 'n', ok: true, functions: [{ ...hot, share: 7 }] })],
    ['of a process that failed', { ...answered({ nonce: 'n', ok: true, functions: [hot] }), exitCode: 1 }],
  ])('is nothing for one %s', (_, result) => {
    expect(readProfile(result, 'n')).toEqual([]);
  });

  it('bounds hostile names and files, and keeps them on one line', () => {
    const hostile = fc.array(
      fc.constantFrom('\n', '\u0000', '\u202e', '\u2028', '\u001b[31m', '😀', 'a', ' ', '</data>'),
      {
        maxLength: 400,
      },
    );
    fc.assert(
      fc.property(hostile, hostile, (name, file) => {
        const functions = Array.from({ length: 60 }, () => ({
          ...hot,
          name: name.join(''),
          file: file.join(''),
        }));
        const read = readProfile(answered({ nonce: 'n', ok: true, functions }), 'n');
        expect(read).toHaveLength(20);
        for (const one of read) {
          expect(one.name.length).toBeLessThanOrEqual(120);
          expect(one.file.length).toBeLessThanOrEqual(300);
          expect(`${one.name}${one.file}`).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        }
      }),
      { numRuns: 40 },
    );
  });
});
