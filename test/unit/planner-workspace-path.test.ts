import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { refusalOfPath, workspacePath } from '../../src/planner/workspace-path.js';

describe('a path given by the model', () => {
  it.each(['src/index.js', 'a b/ü.ts', '.', './x', '.github/x.yml', 'a..b/c...d', '.gitignore'])(
    'allows %j',
    (path) => {
      expect(refusalOfPath(path)).toBeNull();
    },
  );

  it.each([
    '',
    '/etc/passwd',
    '~/x',
    '../x',
    'a/../../x',
    'a/..',
    '.git/config',
    'a/.GIT/hooks/x',
    '.git./config',
    '.git /x',
    'a\\..\\b',
    'a\u0000b',
    'a\nb',
    'x'.repeat(401),
  ])('refuses %j', (path) => {
    expect(refusalOfPath(path)).not.toBeNull();
  });

  it('drops leading ./ and tells the reason for a refusal', () => {
    expect(workspacePath.parse('././src/a.js')).toBe('src/a.js');
    expect(workspacePath.safeParse('/x').error?.issues[0]?.message).toContain('relative');
  });

  it('never resolves outside the root when it is allowed', () => {
    const part = fc.constantFrom('.', '..', '...', 'a', '.git', '', '~', 'b c', '/');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.boolean(), (parts, rooted) => {
        const path = `${rooted ? '/' : ''}${parts.join('/')}`;
        if (refusalOfPath(path) !== null) return;
        const full = posix.resolve('/ws', path);
        expect(full === '/ws' || full.startsWith('/ws/')).toBe(true);
        expect(full.split('/')).not.toContain('.git');
      }),
    );
  });
});
