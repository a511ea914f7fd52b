import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { normaliseGithub } from '../../src/ingress/normalise.js';
import { publishedPayload } from '../support/webhook-examples.js';

const LABEL = { label: { name: 'hasten' } };
const repository = { id: '186853002', owner: 'Codertocat', name: 'Hello-World', installationId: 9001 };
const person = { login: 'Codertocat', id: 21031067 };

function comment(changes: Record<string, unknown>) {
  const payload = publishedPayload('issue_comment', 'created');
  return { ...payload, comment: { ...z.record(z.string(), z.unknown()).parse(payload.comment), ...changes } };
}

describe('normaliseGithub', () => {
  it('finds the label on an issue with the text of that moment', () => {
    expect(normaliseGithub('issues', publishedPayload('issues', 'labeled', LABEL))).toEqual({
      kind: 'candidate',
      action: 'labeled',
      repository,
      candidate: {
        kind: 'issue-label',
        person,
        issue: {
          number: 1,
          title: 'Spelling error in the README file',
          body: "It looks like you accidently spelled 'commit' with two 't's.",
        },
      },
    });
  });

  it('finds the label whatever its case', () => {
    const payload = publishedPayload('issues', 'labeled', { label: { name: 'Hasten' } });
    expect(normaliseGithub('issues', payload)).toMatchObject({ candidate: { kind: 'issue-label' } });
  });

  it('finds commands in new comments only, from the person who wrote them', () => {
    const found = normaliseGithub('issue_comment', comment({ body: 'Yes.\n\n/hasten approve now' }));
    expect(found).toMatchObject({
      candidate: { kind: 'comment', onPullRequest: false, person, command: { name: 'approve', text: 'now' } },
    });
    const edited = { ...comment({ body: '/hasten approve' }), action: 'edited' };
    expect(normaliseGithub('issue_comment', edited)).toMatchObject({ kind: 'ignored' });
    for (const changes of [
      { body: '/hasten approve', user: { login: 'dependabot[bot]', id: 1, type: 'Bot' } },
      { body: '/hasten approve', user: { login: 'other', id: 1, type: 'User' } },
      { body: '/hasten approve', user: null },
      { body: '/hasten approve', performed_via_github_app: { id: 3 } },
      { body: null },
    ]) {
      expect(normaliseGithub('issue_comment', comment(changes)).kind).toBe('ignored');
    }
  });

  it('does not take bots, organisations, other labels or removed labels', () => {
    const senders = [
      { login: 'github-actions[bot]', id: 2, type: 'Bot' },
      { login: 'sneaky[bot]', id: 2, type: 'User' },
      { login: 'acme', id: 2, type: 'Organization' },
      { login: 'unknown', id: 2 },
    ];
    for (const sender of senders) {
      expect(
        normaliseGithub('issues', publishedPayload('issues', 'labeled', { ...LABEL, sender })).kind,
      ).toBe('ignored');
      const pull = publishedPayload('pull_request', 'labeled', { ...LABEL, sender });
      expect(normaliseGithub('pull_request', pull).kind).toBe('ignored');
    }
    expect(normaliseGithub('issues', publishedPayload('issues', 'labeled')).kind).toBe('ignored');
    expect(normaliseGithub('issues', publishedPayload('issues', 'unlabeled', LABEL)).kind).toBe('ignored');
    expect(normaliseGithub('issues', publishedPayload('issues', 'opened', LABEL)).kind).toBe('ignored');
  });

  it('finds the label on a pull request', () => {
    expect(normaliseGithub('pull_request', publishedPayload('pull_request', 'labeled', LABEL))).toMatchObject(
      {
        candidate: { kind: 'pull-label', person },
      },
    );
  });

  it('finds closed pull requests of branches of Hasten in the same repository only, whoever closed them', () => {
    const payload = publishedPayload('pull_request', 'closed', {
      sender: { login: 'merge[bot]', id: 3, type: 'Bot' },
    });
    const pull = z.record(z.string(), z.unknown()).parse(payload.pull_request);
    const closed = (head: unknown) =>
      normaliseGithub('pull_request', { ...payload, pull_request: { ...pull, head } });
    expect(closed({ ref: 'hasten/abc', repo: { id: 186853002 } })).toMatchObject({
      candidate: { kind: 'pull-closed', person: { login: 'merge[bot]' } },
    });
    expect(closed({ ref: 'hasten/abc', repo: { id: 7 } }).kind).toBe('ignored');
    expect(closed({ ref: 'hasten/abc', repo: null }).kind).toBe('ignored');
    expect(closed({ ref: 'feature', repo: { id: 186853002 } }).kind).toBe('ignored');
  });

  it('never takes one event for another, and never throws, whatever the payload', () => {
    const body = comment({ body: '/hasten approve' });
    for (const event of ['issues', 'pull_request', 'push', 'constructor', '__proto__']) {
      expect(normaliseGithub(event, body).kind).toBe('ignored');
    }
    const events = fc.constantFrom('issues', 'issue_comment', 'pull_request');
    const payloads = fc.oneof(
      fc.jsonValue(),
      fc.record({
        action: fc.constantFrom('labeled', 'created', 'closed'),
        issue: fc.jsonValue(),
        label: fc.jsonValue(),
      }),
    );
    fc.assert(
      fc.property(events, payloads, (event, payload) => {
        expect(['ignored', 'malformed']).toContain(normaliseGithub(event, payload).kind);
      }),
    );
  });

  it('says where a payload differs, without its values', () => {
    const payload = publishedPayload('issues', 'labeled', {
      ...LABEL,
      issue: { number: 'zq-secret', title: 1 },
    });
    const found = normaliseGithub('issues', payload);
    expect(found).toMatchObject({ kind: 'malformed', problem: expect.stringMatching(/^issue\.number: /) });
    expect(JSON.stringify(found)).not.toContain('zq-secret');
  });
});
