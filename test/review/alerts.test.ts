// Review: alerts and their channels.
import { expect, it } from 'vitest';
import { send } from '../../src/engine/alerts/channels/send.js';
import { testMessage } from '../../src/model/alerts/message.js';
import { readAlerts } from '../../src/model/alerts/read-alerts.js';
import { storeTest } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const { test } = storeTest(NOW, () =>
  reuseTestTock([], { alerts: { channels: [{ command: ['/bin/true'] }] } }),
);

it('a command that leaves a process behind, which keeps its output open, has delivered within its time', async () => {
  const { channels } = readAlerts({
    channels: [{ command: ['/bin/sh', '-c', 'setsid sleep 8 & exit 0'], timeout: '1s' }],
  });
  const channel = channels.get('command');
  if (channel === undefined) throw new Error('no channel');
  const begun = performance.now();
  const answer = await send(channel, testMessage('x', NOW, { timezone: null, dashboard: null }), {
    signal: new AbortController().signal,
    at: NOW,
    seconds: 1,
  });
  expect(answer).toBe('exit code 0');
  expect(performance.now() - begun).toBeLessThan(4000);
});

it('a host can be muted by its name, as the documentation says', async () => {
  await test.sql(
    `insert into tock.ticks (host, folder, kind, at, tick_count, version, node, zone_data, clock_ms) values ('web-1', '/srv/app', 'tick', tock.now() - interval '1 hour', 100, '0.1.0', '20.0.0', '2025c', 0)`,
  );
  await expect(test.tock.alerts.mute('web-1', { until: '2026-03-02T14:00:00Z' })).resolves.toMatchObject({
    name: 'web-1',
  });
});
