// A real Prometheus scrapes a real dashboard, and the shipped rules make a real Alertmanager call a webhook.
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServedDashboard, serveDashboard } from '../../src/dashboard/server/serve.js';
import { readDashboardSettings } from '../../src/dashboard/server/settings.js';
import { defineJob } from '../../src/index.js';
import { ALERTMANAGER, type MonitoringServer, PROMETHEUS, startMonitoring } from '../support/prometheus.js';
import { openTestTock, type TestTock } from '../support/test-tock.js';
import { until } from '../support/until.js';

const TOKEN = 'the-token-of-the-scraper';
const RULES = readFileSync(path.join(import.meta.dirname, '../../metrics/tock.rules.yml'), 'utf8');

/** Each threshold must be there, or this would test other rules than those that are shipped. */
function withShortTimes(rules: string): string {
  const change = (text: string, from: string, to: string) => {
    if (!text.includes(from)) throw new Error(`the rules do not have ${from}`);
    return text.replace(from, to);
  };
  let short = change(rules, 'tock_occurrence_overdue_seconds > 300', 'tock_occurrence_overdue_seconds > 4');
  short = change(short, '_expected_by_timestamp_seconds > 1800', '_expected_by_timestamp_seconds > 4');
  return short;
}

interface Alert {
  readonly status: 'firing' | 'resolved';
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

describe.skipIf(PROMETHEUS === null || ALERTMANAGER === null)('Prometheus and its Alertmanager', () => {
  const often = defineJob({ name: 'often', schedule: { every: '1s' }, run: () => null });
  const hopeless = defineJob({
    name: 'hopeless',
    retry: { maxAttempts: 1 },
    run: () => {
      throw new Error('no');
    },
  });
  let test: TestTock;
  let dashboard: ServedDashboard | undefined;
  let receiver: Server | undefined;
  const servers: MonitoringServer[] = [];
  const alerts: Alert[] = [];

  beforeAll(async () => {
    test = await openTestTock([often, hopeless]);
    // Registers the jobs; nothing ticks after that.
    await test.tock.tick();
    dashboard = await serveDashboard({
      tock: test.tock,
      host: '127.0.0.1',
      port: 0,
      settings: readDashboardSettings({ TOCK_DASHBOARD_METRICS_TOKEN: TOKEN }),
      onLink: () => undefined,
    });
    receiver = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      request.on('end', () => {
        alerts.push(...(JSON.parse(body) as { alerts: Alert[] }).alerts);
        response.end();
      });
    });
    await new Promise<void>(resolve => receiver?.listen(0, '127.0.0.1', resolve));
    const { port } = receiver.address() as AddressInfo;
    const alertmanager = await startMonitoring(
      ALERTMANAGER ?? '',
      {
        'alertmanager.yml': JSON.stringify({
          route: {
            receiver: 'test',
            group_by: ['alertname'],
            group_wait: '100ms',
            group_interval: '1s',
            repeat_interval: '1h',
          },
          receivers: [
            { name: 'test', webhook_configs: [{ url: `http://127.0.0.1:${port}/`, send_resolved: true }] },
          ],
        }),
      },
      (own, folder) => [
        '--config.file=alertmanager.yml',
        `--storage.path=${folder}/data`,
        `--web.listen-address=127.0.0.1:${own}`,
        '--cluster.listen-address=',
      ],
    );
    servers.push(alertmanager);
    const target = new URL(dashboard.url).host;
    servers.push(
      await startMonitoring(
        PROMETHEUS ?? '',
        {
          'tock.rules.yml': withShortTimes(RULES),
          'prometheus.yml': JSON.stringify({
            global: { scrape_interval: '1s', evaluation_interval: '1s' },
            rule_files: ['tock.rules.yml'],
            alerting: {
              alertmanagers: [{ static_configs: [{ targets: [new URL(alertmanager.url).host] }] }],
            },
            scrape_configs: [
              {
                job_name: 'tock',
                honor_labels: true,
                authorization: { credentials: TOKEN },
                static_configs: [{ targets: [target] }],
              },
            ],
          }),
        },
        (own, folder) => [
          '--config.file=prometheus.yml',
          `--storage.tsdb.path=${folder}/data`,
          `--web.listen-address=127.0.0.1:${own}`,
        ],
      ),
    );
  });
  afterAll(async () => {
    for (const server of servers.toReversed()) await server.close();
    receiver?.closeAllConnections();
    await new Promise(resolve => receiver?.close(resolve) ?? resolve(null));
    await dashboard?.close();
    await test?.close();
  });

  const ask = async (query: string) => {
    const response = await fetch(`${servers[1]?.url}/api/v1/query?query=${encodeURIComponent(query)}`);
    const { data } = (await response.json()) as {
      data: { result: { metric: Record<string, string>; value: [number, string] }[] };
    };
    return data.result;
  };
  const told = async (
    alertname: string,
    status: Alert['status'] = 'firing',
    labels: Record<string, string> = {},
  ) =>
    await until(
      () =>
        Promise.resolve(
          alerts.find(
            each =>
              each.status === status &&
              each.labels['alertname'] === alertname &&
              Object.entries(labels).every(([name, value]) => each.labels[name] === value),
          ),
        ),
      `${alertname}, ${status}; there are ${JSON.stringify(alerts)}`,
    );

  it('read what the dashboard publishes, counters at zero included', async () => {
    const [dead] = await until(async () => {
      const found = await ask('tock_runs_ended_total{job="hopeless",status="dead"}');
      return found.length > 0 && found;
    }, 'the first scrape');
    expect(dead?.value[1]).toBe('0');
    expect(dead?.metric).toMatchObject({ job: 'hopeless', queue: 'default' });
    // A scrape that takes longer than a second counts as none.
    await until(async () => (await ask('up{job="tock"}'))[0]?.value[1] === '1', 'a scrape in time');
    const response = await fetch(
      `${servers[1]?.url}/api/v1/targets/metadata?metric=tock_run_duration_seconds`,
    );
    const { data } = (await response.json()) as { data: { type: string; unit: string }[] };
    // The unit is known only where OpenMetrics was read.
    expect(data[0]).toMatchObject({ type: 'histogram', unit: 'seconds' });
  });

  it('tell that nothing ticks, and that a schedule is overdue', async () => {
    expect((await told('TockSilent')).annotations['summary']).toBe('Nothing ticks');
    await told('TockScheduleOverdue', 'firing', { schedule: 'often' });
  });

  it('tell of a dead run, and that it ticks again', async () => {
    await test.tock.enqueue(hopeless);
    const daemon = await test.tock.start();
    try {
      expect((await told('TockRunsDead', 'firing', { job: 'hopeless' })).annotations['summary']).toBe(
        'Runs of hopeless are dead',
      );
      await told('TockSilent', 'resolved');
      await told('TockScheduleOverdue', 'resolved', { schedule: 'often' });
    } finally {
      await daemon.stop();
    }
  });
});
