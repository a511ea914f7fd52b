// GitHub's published webhook payloads (`@octokit/webhooks-examples`).
import { createRequire } from 'node:module';
import { z } from 'zod';

// Loaded by Node itself: as an import, the test runner would turn all of its JSON into a module first.
const require = createRequire(import.meta.url);
const published: unknown = require('@octokit/webhooks-examples');

const entry = z.object({ name: z.string(), examples: z.array(z.record(z.string(), z.unknown())) });

/** Every payload by the name of its event. */
const payloads = new Map(
  z
    .array(entry)
    .parse(published)
    .map(({ name, examples }) => [name, examples]),
);

/** All published payloads of an event. */
export function publishedPayloads(event: string): readonly Record<string, unknown>[] {
  return payloads.get(event) ?? [];
}

/** The first published payload of an event with this action, with an installation and other changes. */
export function publishedPayload(
  event: string,
  action: string,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  const found = publishedPayloads(event).find((payload) => payload.action === action);
  if (found === undefined) throw new Error(`no published payload of ${event}.${action}`);
  return { ...found, installation: { id: 9001 }, ...changes };
}
