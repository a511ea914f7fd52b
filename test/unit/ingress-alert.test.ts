import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Alert } from '../../src/ingress/alert-payload.js';
import { authenticateSource, targetOf } from '../../src/ingress/alert-routing.js';
import { alertBody, alertTitle } from '../../src/ingress/alert-text.js';

function alert(labels: Record<string, string>, annotations: Record<string, string> = {}): Alert {
  return { status: 'firing', labels, annotations, startsAt: '2026-11-30T18:35:15.999Z', fingerprint: 'f1' };
}

const source = {
  name: 'am',
  token: 'token-of-the-first-source',
  repositories: ['acme/web', 'acme/API'],
  routes: [
    { match: { service: 'web', severity: 'page' }, repository: 'acme/web' },
    { match: { service: 'web' }, repository: 'acme/API' },
  ],
};
const other = { ...source, name: 'other', token: 'token-of-the-second-source' };

describe('authenticateSource', () => {
  it('finds the source of a bearer token and no other form of it', () => {
    const sources = [source, other];
    expect(authenticateSource(sources, `Bearer ${other.token}`)).toBe(other);
    expect(authenticateSource(sources, `bearer  ${source.token} `)).toBe(source);
    for (const header of [
      undefined,
      '',
      'Bearer',
      `Basic ${source.token}`,
      `Bearer ${source.token}x`,
      source.token,
    ]) {
      expect(authenticateSource(sources, header)).toBeNull();
    }
    expect(authenticateSource([], `Bearer ${source.token}`)).toBeNull();
  });
});

describe('targetOf', () => {
  it('lets the label decide, then the first route whose labels all match', () => {
    const target = (labels: Record<string, string>) => targetOf(source, alert(labels));
    expect(target({ hasten_repo: 'Acme/api' })).toEqual({ kind: 'repository', repository: 'acme/API' });
    expect(target({ hasten_repo: 'acme/web2', service: 'web' })).toEqual({
      kind: 'forbidden',
      named: 'acme/web2',
    });
    expect(target({ service: 'web', severity: 'page' })).toEqual({
      kind: 'repository',
      repository: 'acme/web',
    });
    expect(target({ service: 'web', severity: 'info' })).toEqual({
      kind: 'repository',
      repository: 'acme/API',
    });
    expect(target({ severity: 'page' })).toEqual({ kind: 'unnamed' });
    expect(target({ hasten_repo: '' })).toEqual({ kind: 'unnamed' });
  });
});

describe('the text of an alert', () => {
  it('is titled by its summary, else by its name', () => {
    expect(alertTitle(alert({ alertname: 'High' }, { summary: 'p95\n is  2s' }))).toBe('p95 is 2s');
    expect(alertTitle(alert({ alertname: 'High' }))).toBe('Alert High');
    expect(alertTitle(alert({}))).toBe('Alert without a name');
  });

  it('is data: each label one bounded line in a code span, without markers, mentions or links outside of it', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 2000 }),
      fc.constantFrom('<!-- hasten:key -->', '`@owner`', '``` \n# Heading', '[a](http://x)', '\u202Eabc', ''),
    );
    fc.assert(
      fc.property(
        fc.dictionary(value, value, { maxKeys: 60 }),
        fc.dictionary(value, value),
        (labels, annotations) => {
          const text = alertBody(alert(labels, annotations));
          expect(text.replaceAll('\n', '')).not.toMatch(/<!--|-->|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
          for (const line of text.split('\n').filter((entry) => entry.startsWith('- '))) {
            expect(line).toMatch(/^- (?:none|and \d+ more|(?:`[^`]+`|\(empty\)): (?:`[^`]+`|\(empty\)))$/);
          }
          expect(text.split('\n').length).toBeLessThan(2 * 41 + 6);
          expect(text.length).toBeLessThan(2 * 41 * 1300);
          expect([...alertTitle(alert(labels, annotations))].length).toBeLessThan(180);
        },
      ),
    );
  });
});
