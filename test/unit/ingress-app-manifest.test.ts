import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { z } from 'zod';

const text = readFileSync(new URL('../../app.yml', import.meta.url), 'utf8');

describe('app.yml', () => {
  it('registers a private App that asks for exactly the permissions and events that its functions need', () => {
    expect(parse(text)).toMatchObject({
      public: false,
      request_oauth_on_install: false,
      default_permissions: {
        metadata: 'read',
        contents: 'write',
        issues: 'write',
        pull_requests: 'write',
        checks: 'write',
      },
      default_events: ['issues', 'issue_comment', 'pull_request'],
    });
    const manifest = z.object({ default_permissions: z.record(z.string(), z.string()) }).parse(parse(text));
    expect(Object.keys(manifest.default_permissions)).toHaveLength(5);
    expect(manifest.default_permissions).not.toHaveProperty('workflows');
    expect(manifest.default_permissions).not.toHaveProperty('administration');
  });

  it('says above every permission why it is asked for', () => {
    expect(parseDocument(text).errors).toEqual([]);
    const lines = text.split('\n');
    const start = lines.indexOf('default_permissions:');
    const end = lines.indexOf('default_events:');
    for (let index = start + 1; index < end; index += 1) {
      if (/^ {2}\w+: (read|write)$/.test(lines[index] ?? '')) {
        expect(lines[index - 1], lines[index]).toMatch(/^ {2}# .{20,}/);
      }
    }
  });
});
