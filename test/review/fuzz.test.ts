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
  const dashboard = createDashboard({
    tock: test.tock,
    authorize: () => ({ user: 'ann', role: 'admin', seesPayloads: true }),
  });
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
  await addRuns(
    test,
    { job: 'mail', payload: '{"to": "ann"}', status: 'dead', finished_at: NOW, attempts: 1, max_attempts: 1 },
    { job: 'mail' },
  );
});

describe('posts', () => {
  it.each([
    ['/runs/retry-all', 'payload=a%3D1e999999'],
    ['/runs/cancel-all', 'payload=a%3D1e999999'],
    ['/schedules', 'act=pause&pause=x'],
    ['/schedules', 'act=pause&which=all&name=%00'],
    ['/schedules', 'act=run&which=all&job=%00'],
    ['/alerts/mute', 'name=a%00&until=1h'],
    ['/alerts/unmute', 'name=a%00'],
  ])('%s of %s is no 500', async (path, body) => {
    expect((await post(path, new URLSearchParams(body))).status).toBeLessThan(500);
  });
  it.each(['/runs/1/edit', '/alerts/mute', '/schedules'])('%s with a broken multipart', async path => {
    expect((await post(path, 'nonsense', 'multipart/form-data; boundary=x')).status).toBeLessThan(500);
  });
  it.each(['/runs/1/edit', '/schedules'])('%s with no boundary', async path => {
    expect((await post(path, 'nonsense', 'multipart/form-data')).status).toBeLessThan(500);
  });
});
