// A real Prometheus and a real Alertmanager (Debian packages) that fire one alert at Hasten on demand.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChildService, startChildService } from './child-service.js';
import { freePorts } from './free-port.js';

export interface AlertingOptions {
  /** Where Alertmanager posts, such as `http://127.0.0.1:3000/alerts`. */
  readonly hastenUrl: string;
  /** Bearer token that it sends; a function of nothing else authenticates an alert. */
  readonly token: string;
  /** Labels of the metric and so of the alert, such as `hasten_repo`. */
  readonly labels: Readonly<Record<string, string>>;
  /** `HighLatency` when left out. */
  readonly alertName?: string;
  /** Annotations besides `summary`; Prometheus templates work. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export class Alerting {
  readonly #services: readonly ChildService[];
  readonly #metrics: MetricServer;
  readonly #folder: string;
  /** Address of Alertmanager's own interface. */
  readonly alertmanagerUrl: string;

  constructor(
    services: readonly ChildService[],
    metrics: MetricServer,
    folder: string,
    alertmanagerUrl: string,
  ) {
    this.#services = services;
    this.#metrics = metrics;
    this.#folder = folder;
    this.alertmanagerUrl = alertmanagerUrl;
  }

  /** Makes the latency high: the firing alert reaches Hasten in about six seconds. */
  fire(): void {
    this.#metrics.latencySeconds = 2;
  }

  /** Makes the latency low again: the resolved alert follows in about two seconds. */
  resolve(): void {
    this.#metrics.latencySeconds = 0.1;
  }

  /** Log lines of both programs. */
  lines(): string[] {
    return this.#services.flatMap((service) => service.lines());
  }

  async close(): Promise<void> {
    await Promise.all(this.#services.map((service) => service.close()));
    await this.#metrics.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Starts both programs and a metric server for them; ready when both answer (about a second). */
export async function startAlerting(options: AlertingOptions): Promise<Alerting> {
  const folder = mkdtempSync(join(tmpdir(), 'hasten-alerting-'));
  const [prometheusPort = 0, alertmanagerPort = 0, metricPort = 0] = await freePorts(3);
  const metrics = await MetricServer.start(metricPort, options.labels);
  const services: ChildService[] = [];
  const alerting = new Alerting(services, metrics, folder, `http://127.0.0.1:${alertmanagerPort}`);
  try {
    writeConfiguration(folder, options, alertmanagerPort, metricPort);
    services.push(await startAlertmanager(folder, alertmanagerPort));
    services.push(await startPrometheus(folder, prometheusPort));
    const ports = [alertmanagerPort, prometheusPort];
    await Promise.all(
      services.map((service, index) =>
        service.waitForHttp(`http://127.0.0.1:${ports[index]}/-/ready`, 20_000),
      ),
    );
    return alerting;
  } catch (error) {
    await alerting.close();
    throw error;
  }
}

function startAlertmanager(folder: string, port: number): Promise<ChildService> {
  return startChildService({
    argv: [
      'prometheus-alertmanager',
      `--config.file=${join(folder, 'am.yml')}`,
      `--storage.path=${join(folder, 'am')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      // An empty address switches the gossip port off.
      '--cluster.listen-address=',
    ],
    cwd: folder,
  });
}

function startPrometheus(folder: string, port: number): Promise<ChildService> {
  return startChildService({
    argv: [
      'prometheus',
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    cwd: folder,
  });
}

function writeConfiguration(
  folder: string,
  options: AlertingOptions,
  alertmanagerPort: number,
  metricPort: number,
): void {
  for (const name of ['am', 'tsdb']) mkdirSync(join(folder, name));
  const write = (name: string, content: object) => writeFileSync(join(folder, name), JSON.stringify(content));
  writeFileSync(join(folder, 'token.txt'), options.token, { mode: 0o600 });
  // JSON is YAML, which spares the rig from quoting labels.
  write('prometheus.yml', {
    global: { scrape_interval: '1s', evaluation_interval: '1s', external_labels: { cluster: 'rig' } },
    alerting: { alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertmanagerPort}`] }] }] },
    rule_files: ['rules.yml'],
    scrape_configs: [{ job_name: 'app', static_configs: [{ targets: [`127.0.0.1:${metricPort}`] }] }],
  });
  const annotations = { summary: 'p95 {{ $value }}s', ...options.annotations };
  const rule = {
    alert: options.alertName ?? 'HighLatency',
    expr: 'app_latency > 1',
    for: '2s',
    labels: { severity: 'page' },
    annotations,
  };
  write('rules.yml', { groups: [{ name: 'perf', rules: [rule] }] });
  const webhook = {
    url: options.hastenUrl,
    send_resolved: true,
    http_config: { authorization: { type: 'Bearer', credentials_file: join(folder, 'token.txt') } },
  };
  const timing = { group_wait: '1s', group_interval: '2s', repeat_interval: '1h' };
  write('am.yml', {
    route: { receiver: 'hasten', group_by: ['alertname', ...Object.keys(options.labels)], ...timing },
    receivers: [{ name: 'hasten', webhook_configs: [webhook] }],
  });
}

/** Serves one gauge, `app_latency`, with the given labels. */
class MetricServer {
  latencySeconds = 0.1;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(port: number, labels: Readonly<Record<string, string>>): Promise<MetricServer> {
    const server = createServer();
    const metrics = new MetricServer(server);
    const text = Object.entries(labels)
      .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
      .join(',');
    server.on('request', (_request, response) => {
      response.setHeader('content-type', 'text/plain; version=0.0.4');
      response.end(`# TYPE app_latency gauge\napp_latency{${text}} ${metrics.latencySeconds}\n`);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return metrics;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}
