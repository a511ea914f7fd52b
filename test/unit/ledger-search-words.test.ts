import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indexedText, matchQuery, searchWords } from '../../src/ledger/search-words.js';

describe('words to search for', () => {
  it('are lower case, distinct, without what stands in every report, with the parts of names', () => {
    expect(searchWords('The parseCookie() of our proxy is slow; parseCookie splits')).toEqual([
      'parsecookie',
      'parse',
      'cookie',
      'proxy',
      'slow',
      'splits',
    ]);
  });

  it('are none in a text without words', () => {
    expect(matchQuery('the a ?! "" * () -')).toBeNull();
  });

  it('make a query of quoted words only, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const query = matchQuery(text);
        if (query !== null) expect(query).toMatch(/^"[^"]+"(?: OR "[^"]+")*$/);
      }),
    );
  });

  it('are bounded', () => {
    const text = Array.from({ length: 5000 }, (_, index) => `word${index}`).join(' ');
    expect(searchWords(text).length).toBeLessThanOrEqual(64);
    expect(searchWords('x'.repeat(500))[0]?.length).toBe(64);
  });

  it('stand in the index beside the names that they are parts of', () => {
    expect(indexedText('calls parseCookie twice')).toBe('calls parseCookie twice\nparse Cookie');
    expect(indexedText('plain words')).toBe('plain words');
  });
});
