import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPackageName, parseRegistryPath, registryPath } from '../../src/sandbox/registry-path.js';
import { pointAtMirror } from '../../src/sandbox/registry-upstream.js';

const word = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,20}$/);
const name = fc.oneof(
  word,
  fc.tuple(word, word).map(([scope, base]) => `@${scope}/${base}`),
);

describe('paths of the registry mirror', () => {
  it('reads documents and tarballs of plain and scoped packages', () => {
    expect(parseRegistryPath('/semver')).toEqual({ kind: 'document', package: 'semver' });
    expect(parseRegistryPath('/@scope%2fname')).toEqual({ kind: 'document', package: '@scope/name' });
    expect(parseRegistryPath('/@scope%2Fname')).toEqual({ kind: 'document', package: '@scope/name' });
    expect(parseRegistryPath('/@scope/name?write=true#x')).toEqual({
      kind: 'document',
      package: '@scope/name',
    });
    expect(parseRegistryPath('/JSONStream/-/JSONStream-1.3.5.tgz')).toEqual({
      kind: 'tarball',
      package: 'JSONStream',
      file: 'JSONStream-1.3.5.tgz',
    });
    expect(parseRegistryPath('/@a/b/-/b-1.0.0-rc.1+x.tgz')).toEqual({
      kind: 'tarball',
      package: '@a/b',
      file: 'b-1.0.0-rc.1+x.tgz',
    });
  });

  it.each([
    '/',
    '',
    'semver',
    '//semver',
    '/semver/',
    '/semver//-/x.tgz',
    '/-/whoami',
    '/-/npm/v1/tokens',
    '/-/v1/search?text=x',
    '/semver/-/../x.tgz',
    '/../etc/passwd',
    '/..%2f..%2fetc/passwd',
    '/%2e%2e/x',
    '/@scope%2f..%2fx',
    '/@scope/..',
    '/@scope',
    '/@/x',
    '/.hidden',
    '/_users',
    '/semver/-/x.tgz/more',
    '/semver/-/x.zip',
    '/semver/-/.tgz',
    '/semver/7.0.0',
    '/semver/-rev/1',
    '/a\\b',
    '/a%00b',
    '/a b',
    '/@scope%252fname',
    '/http://example.invalid/x',
    'http://example.invalid/x',
    `/${'a'.repeat(215)}`,
  ])('refuses %s', (path) => {
    expect(parseRegistryPath(path)).toBeNull();
  });

  it('finds every name again that it writes as an address', () => {
    fc.assert(
      fc.property(name, word, (packageName, file) => {
        const document = { kind: 'document', package: packageName } as const;
        expect(parseRegistryPath(`/${registryPath(document)}`)).toEqual(document);
        const tarball = { kind: 'tarball', package: packageName, file: `${file}.tgz` } as const;
        expect(parseRegistryPath(`/${registryPath(tarball)}`)).toEqual(tarball);
      }),
    );
  });

  it('never lets an address leave the registry, whatever is asked', () => {
    const nasty = fc.array(
      fc.constantFrom(
        '/',
        '..',
        '.',
        '%2f',
        '%2F',
        '%2e',
        '@',
        'a',
        '-',
        '\\',
        '?',
        '#',
        ':',
        '//',
        '%',
        '~',
        '_',
        '.tgz',
        '\u0000',
        ' ',
      ),
      { maxLength: 14 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          nasty.map((parts) => `/${parts.join('')}`),
        ),
        (path) => {
          const target = parseRegistryPath(path);
          if (target === null) return;
          const url = new URL(registryPath(target), 'https://registry.example.invalid/base/');
          expect(url.origin).toBe('https://registry.example.invalid');
          expect(url.pathname.startsWith('/base/')).toBe(true);
          expect(url.search + url.hash).toBe('');
          expect(decodeURIComponent(url.pathname).split('/')).not.toContain('..');
          expect(isPackageName(target.package)).toBe(true);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('package documents', () => {
  it('get the mirror as the address of each tarball, and no other change', () => {
    const document = {
      name: '@s/p',
      description: 'says "tarball":"https://a.invalid/x.tgz" and \\"tarball\\": too',
      versions: {
        '1.0.0': {
          dist: { tarball: 'https://a.invalid/deep/@s/p/-/p-1.0.0.tgz?x=1#y', integrity: 'sha512-a' },
        },
        '2.0.0': { dist: { integrity: 'sha512-b', tarball: 'https://b.invalid/p-2.0.0.tgz' } },
      },
    };
    for (const space of [0, 2]) {
      const rewritten: unknown = JSON.parse(
        pointAtMirror(JSON.stringify(document, null, space), '@s/p', 'http://m/'),
      );
      expect(rewritten).toEqual({
        ...document,
        versions: {
          '1.0.0': { dist: { tarball: 'http://m/@s/p/-/p-1.0.0.tgz', integrity: 'sha512-a' } },
          '2.0.0': { dist: { integrity: 'sha512-b', tarball: 'http://m/@s/p/-/p-2.0.0.tgz' } },
        },
      });
    }
  });
});
