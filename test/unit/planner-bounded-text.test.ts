import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headAndTail } from '../../src/planner/bounded-text.js';

describe('head and tail of long text', () => {
  it('keep both ends and say how much is missing', () => {
    const cut = headAndTail(`start${'x'.repeat(5000)}end`, 400);
    expect(cut.startsWith('start')).toBe(true);
    expect(cut.endsWith('end')).toBe(true);
    expect(cut).toContain('left out');
  });

  it('never have more bytes than the limit and never a broken character', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 600 }),
        fc.integer({ min: 100, max: 500 }),
        (text, limit) => {
          const cut = headAndTail(text, limit);
          expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
          if (!text.includes('\uFFFD')) expect(cut).not.toContain('\uFFFD');
          if (Buffer.byteLength(text) <= limit) expect(cut).toBe(text);
        },
      ),
    );
  });
});
