/** Alertmanager's webhook payload, version 4, and one alert of it as it is stored in a delivery. */
import { z } from 'zod';

/** Alertmanager's `max_alerts` keeps below it. */
export const MAX_ALERTS = 1000;

const labels = z.record(z.string().max(200), z.string().max(20_000));

const alert = z.object({
  status: z.enum(['firing', 'resolved']),
  labels,
  annotations: labels.default({}),
  startsAt: z.iso.datetime({ offset: true }),
  generatorURL: z.string().max(10_000).optional(),
  fingerprint: z.string().min(1).max(100),
});
export type Alert = z.infer<typeof alert>;

/** What Alertmanager posts. */
export const alertmanagerPayload = z.object({
  version: z.literal('4', 'must be "4"'),
  groupKey: z.string().min(1).max(20_000),
  alerts: z.array(alert).max(MAX_ALERTS),
});

/** Body of the delivery of one alert. */
export const storedAlert = z.object({
  source: z.string(),
  /** `owner/name` as the source lists it. */
  repository: z.string(),
  groupKey: z.string(),
  alert,
});
export type StoredAlert = z.infer<typeof storedAlert>;
