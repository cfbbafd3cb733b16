// Review: posts that are odd must be refused, not fail.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDashboard } from '../../src/dashboard/create-dashboard.js';
import { defineJob } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined, schedule: { cron: '0 3 * * *' } });
const { test } = storeTest(NOW, () => reuseTestTock([mail]));
let post: (path: string, body: BodyInit, type?: string) => Promise<Response>;
beforeAll(() => {
  const dashboard = createDashboard({ tock: test.tock, authorize: () => ({ user: 'ann', role: 'admin', seesPayloads: true }) });
  post = (path, body, type) =>
    dashboard.fetch(
      new Request(`http://localhost${path}`, {
        method: 'POST',
        body,
        headers: { 'sec-fetch-site': 'same-origin', ...(type ? { 'content-type': type } : {}) },
      }),
    );
});
beforeEach(async () => {
  await addRuns(test, { job: 'mail', payload: '{"to": "ann"}', status: 'dead', finished_at: NOW, attempts: 1, max_attempts: 1 }, { job: 'mail' });
});

const PATHS: Record<string, string[]> = {
  '/runs/1/edit': ['payload', 'fence', 'status'], '/runs/1/complete': ['fence'], '/runs/1/fail': ['fence'], '/runs/retry-all': ['job', 'count', 'per', 'tag', 'from', 'payload', 'name'],
  '/runs/cancel-all': ['job', 'key', 'from'], '/jobs/mail/run': ['payload'], '/alerts/mute': ['name', 'until', 'note'], '/alerts/unmute': ['name'], '/alerts/test': ['channel'],
  '/queues/default/pause': ['until', 'note'], '/queues/default/resume': ['count', 'per'], '/queues/default/open-key': ['key'], '/queues/default/limits': ['concurrency', 'rate', 'window', 'timezone', 'until'],
  '/freeze': ['until', 'note', 'ramp'], '/thaw': ['ramp'], '/schedules': ['act', 'which', 'schedule', 'pause', 'name', 'job', 'state', 'note', 'until', 'confirmed', 'back'],
  '/schedules/mail/pause': ['note', 'until', 'back'], '/schedules/mail/run': ['back'], '/schedules/mail/backfill': ['from', 'to'], '/confirm': ['confirm-action', 'confirm-verb', 'confirm-keep', 'confirm-text', 'confirm-back'],
  '/backfill': ['rows'], '/deploys': ['name', 'note'], '/schedules/mail/skip': ['at', 'note'], '/schedules/mail/move': ['at', 'to', 'note'], '/new-schedule': ['name', 'job', 'cron', 'timezone', 'payload'],
};
const VALUES: Record<string, string> = { nul: 'a\u0000b', empty: '', big: 'x'.repeat(5000), number: '99999999999999999999', neg: '-1', emoji: '\u{1F600}', span: '99999999999d', date: '+275760-09-13T00:00:00Z', json: '{"a":1e999999}', nuljson: '{"a":"\\u0000"}', deep: '['.repeat(20000) };

describe('posts', () => {
  it.each(Object.entries(PATHS).flatMap(([path, fields]) => Object.keys(VALUES).map(value => [path, value, fields] as const)))('%s with %s', async (path, value, fields) => {
    const body = new URLSearchParams();
    for (const field of fields) body.append(field, VALUES[value] ?? '');
    const bad: string[] = [];
    const all = await post(path, body);
    if (all.status >= 500) bad.push(`all ${all.status}`);
    const good: Record<string, string> = { until: '1h', act: 'pause', which: 'all', fence: '0', status: 'dead', payload: '{}', name: 'mail', from: '', to: '', confirmed: 'yes' };
    for (const field of fields) {
      const one = new URLSearchParams();
      for (const other of fields) one.append(other, other === field ? (VALUES[value] ?? '') : (good[other] ?? ''));
      const { status } = await post(path, one);
      if (status >= 500) bad.push(`${field} ${status}`);
    }
    expect(bad).toEqual([]);
  });
  it.each(['/runs/1/edit', '/alerts/mute', '/schedules'])('%s with a broken multipart', async path => {
    expect((await post(path, 'nonsense', 'multipart/form-data; boundary=x')).status).toBeLessThan(500);
  });
  it.each(['/runs/1/edit', '/schedules'])('%s with no boundary', async path => {
    expect((await post(path, 'nonsense', 'multipart/form-data')).status).toBeLessThan(500);
  });
});
