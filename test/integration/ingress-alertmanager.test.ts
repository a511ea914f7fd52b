import { afterEach, describe, expect, it } from 'vitest';
import { ALERTS_PATH } from '../../src/ingress/routes.js';
import { type Alerting, startAlerting } from '../support/alertmanager.js';
import { ALERT_TOKEN, type IngressRig, startIngressRig } from '../support/ingress-rig.js';

describe('a real Prometheus and Alertmanager', () => {
  let rig: IngressRig | undefined;
  let alerting: Alerting | undefined;
  afterEach(async () => {
    await alerting?.close();
    await rig?.close();
  });

  it('get one delivery stored for one alert, however often they send it', async () => {
    rig = await startIngressRig();
    const { url } = rig;
    alerting = await startAlerting({
      hastenUrl: `${url}${ALERTS_PATH}`,
      token: ALERT_TOKEN,
      labels: { hasten_repo: 'acme/web', route: '/checkout' },
    });
    alerting.fire();
    await expect
      .poll(async () => (await rig?.deliveries())?.length, { timeout: 25_000, interval: 200 })
      .toBe(1);
    alerting.resolve();
    // The resolved alert is the second request; it is ignored and stores nothing.
    await expect
      .poll(() => rig?.logged().match(/POST \/alerts 202/g)?.length, { timeout: 25_000, interval: 200 })
      .toBeGreaterThanOrEqual(2);
    const [delivery, ...others] = await rig.deliveries();
    expect(others).toEqual([]);
    expect(JSON.parse(delivery?.body ?? '{}')).toMatchObject({
      source: 'prometheus',
      repository: 'acme/web',
      alert: { labels: { alertname: 'HighLatency', severity: 'page' }, annotations: { summary: 'p95 2s' } },
    });
  }, 60_000);
});
