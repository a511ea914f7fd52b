import { describe, expect, it } from 'vitest';
import { parseProcessIds } from '../../src/sandbox/process-list.js';

describe('processes of a cgroup', () => {
  it('are one id per line', () => {
    expect(parseProcessIds('12\n345\n')).toEqual(['12', '345']);
  });

  it.each([
    ['an empty file', ''],
    ['processes of another namespace, all shown as 0', '12\n0\n0\n'],
    ['other text', 'usage_usec 12\n'],
  ])('are unknown from %s', (_, text) => {
    expect(parseProcessIds(text)).toBeNull();
  });
});
