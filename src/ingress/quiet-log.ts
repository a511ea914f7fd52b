/** The logger that Probot gets: what its HTTP log writes about requests without headers that hold secrets. */
import type { Logger } from 'pino';
import { z } from 'zod';

const requestSchema = z.looseObject({
  id: z.unknown().optional(),
  method: z.string().optional(),
  url: z.string().optional(),
  remoteAddress: z.string().optional(),
});
const responseSchema = z.looseObject({ statusCode: z.number().nullish() });

/** A child that logs of a request only id, method, path and address, of an answer only its status. */
export function quietLog(log: Logger): Logger {
  return log.child({}, { serializers: { req: plainRequest, res: plainResponse, event: () => undefined } });
}

function plainRequest(request: unknown) {
  const parsed = requestSchema.safeParse(request);
  if (!parsed.success) return undefined;
  const { id, method, url, remoteAddress } = parsed.data;
  return {
    id: typeof id === 'string' ? id.slice(0, 100) : undefined,
    method,
    path: url?.split('?', 1)[0],
    remoteAddress,
  };
}

function plainResponse(response: unknown) {
  const parsed = responseSchema.safeParse(response);
  return parsed.success ? { statusCode: parsed.data.statusCode } : undefined;
}
