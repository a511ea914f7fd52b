/** Shapes of the GitHub payloads that can mean something to Hasten: only the fields that are read. */
import { z } from 'zod';

const account = z.object({ login: z.string().min(1), id: z.number().int(), type: z.string().optional() });
const repository = z.object({
  id: z.number().int().positive(),
  name: z.string().min(1).max(100),
  owner: z.object({ login: z.string().min(1).max(100) }),
});
const installation = z.object({ id: z.number().int().positive() }).optional();
const issue = z.object({
  number: z.number().int().positive(),
  title: z.string(),
  body: z.string().nullish(),
  pull_request: z.unknown().optional(),
});
const label = z.object({ name: z.string() });

export const issuesLabeled = z.object({ issue, label, sender: account, repository, installation });

export const issueCommentCreated = z.object({
  issue,
  comment: z.object({
    id: z.number().int().positive(),
    body: z.string().nullish(),
    user: account.nullish(),
    created_at: z.string(),
    performed_via_github_app: z.unknown().optional(),
  }),
  sender: account,
  repository,
  installation,
});

export const pullRequestLabeled = z.object({
  pull_request: z.object({ number: z.number().int().positive() }),
  label,
  sender: account,
  repository,
  installation,
});

export const pullRequestClosed = z.object({
  pull_request: z.object({
    number: z.number().int().positive(),
    head: z.object({ ref: z.string(), repo: z.object({ id: z.number().int() }).nullish() }),
  }),
  sender: account,
  repository,
  installation,
});

export type Account = z.infer<typeof account>;
export type PayloadRepository = z.infer<typeof repository>;
export type PayloadInstallation = z.infer<typeof installation>;

/** Every GitHub payload is an object; most have an action. */
export const anyPayload = z.looseObject({ action: z.string().max(100).optional() });
