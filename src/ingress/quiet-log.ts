/** The logger that Probot gets: what its HTTP log writes about requests without headers, where secrets travel. */
import type { Logger } from 'pino';

/** Probot's HTTP log writes all headers of each request: tokens, signatures, cookies. Events hold whole payloads. */
const LEFT_OUT = [
  'req.headers',
  'res.headers',
  'req.query',
  'req.params',
  'event',
  'err.event',
  'err.request',
];

/** A child that leaves headers and payloads out of everything it logs. */
export function quietLog(log: Logger): Logger {
  return log.child({}, { redact: { paths: LEFT_OUT, remove: true } });
}
