// /metrics of the dashboard: who may read it, and in which format.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDashboard } from '../../src/dashboard/create-dashboard.js';
import type { Dashboard } from '../../src/dashboard/open-dashboard.js';
import { readDashboardSettings } from '../../src/dashboard/server/settings.js';
import { defineJob } from '../../src/index.js';
import { databaseOf } from '../../src/tock/database-of.js';
import { openOnce } from '../support/open.js';
import { readOpenMetrics, sampleOf } from '../support/openmetrics-reader.js';
import { reuseTestTock } from '../support/test-tock.js';

const TOKEN = 'a-token-of-this-test';
const OPEN = 'application/openmetrics-text';

const test = openOnce(() => reuseTestTock([defineJob({ name: 'noop', run: () => null })]));
let dashboard: Dashboard;
beforeAll(async () => {
  await test.tock.enqueue('noop');
  await test.tock.tick();
  dashboard = createDashboard({
    tock: test.tock,
    basePath: '/ops',
    metricsToken: TOKEN,
    authorize: ({ headers }) => (headers.get('x-user') === 'ann' ? { user: 'ann', role: 'view' } : null),
  });
});
afterAll(async () => {
  await dashboard.close();
});
const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  await dashboard.fetch(new Request(`http://localhost/ops${path}`, { method, headers }));
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('/metrics', () => {
  it('is OpenMetrics for who asks for it, as Prometheus does', async () => {
    const response = await get('/metrics', {
      ...bearer(TOKEN),
      accept: `${OPEN};version=1.0.0,text/plain;q=0.5`,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(`${OPEN}; version=1.0.0; charset=utf-8`);
    expect(response.headers.get('vary')).toBe('accept');
    const families = readOpenMetrics(await response.text());
    expect(sampleOf(families, 'tock_runs_ended_total', { job: 'noop', status: 'succeeded' })).toBe(1);
  });

  it('is the older format for a browser', async () => {
    const response = await get('/metrics', { 'x-user': 'ann', accept: 'text/html,*/*;q=0.8' });
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await response.text()).not.toContain('# EOF');
  });

  it('is shared by those who scrape at once', { tags: 'check' }, async () => {
    let reads = 0;
    const count = () => reads++;
    const { pool } = await databaseOf(test.tock);
    pool.on('acquire', count);
    const scrapes = 40;
    const answers = await Promise.all(
      Array.from({ length: scrapes }, (_, place) =>
        get('/metrics', { ...bearer(TOKEN), accept: place % 2 === 0 ? OPEN : 'text/plain' }),
      ),
    );
    pool.off('acquire', count);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    // Each has a frame of its own, in one statement; and nine are sent where nothing is shared.
    expect(reads).toBeLessThan((scrapes * 10) / 2);
  });

  it('is closed without a token, with a wrong one, and to what is like one', async () => {
    for (const headers of [
      {},
      bearer('another-token-here'),
      bearer(`${TOKEN}x`),
      bearer(''),
      { authorization: TOKEN },
    ])
      expect((await get('/metrics', headers)).status).toBe(401);
  });

  it('is all that the token opens', async () => {
    expect((await get('/', bearer(TOKEN))).status).toBe(401);
    expect((await get('/metrics/', bearer(TOKEN))).status).toBe(401);
    expect((await get('/metrics', bearer(TOKEN), 'POST')).status).toBeGreaterThanOrEqual(400);
    const outside = await dashboard.fetch(
      new Request('http://localhost/metrics', { headers: bearer(TOKEN) }),
    );
    expect(outside.status).toBeGreaterThanOrEqual(401);
  });
});

describe('the token', () => {
  it('has sixteen characters at least', () => {
    const authorize = () => null;
    expect(() => createDashboard({ tock: test.tock, authorize, metricsToken: 'short' })).toThrow(
      'metricsToken must have at least 16',
    );
    expect(() =>
      createDashboard({ tock: test.tock, authorize, metricsToken: 'sixteen letters, and a space' }),
    ).toThrow('metricsToken');
    expect(() => readDashboardSettings({ TOCK_DASHBOARD_METRICS_TOKEN: 'short' })).toThrow(
      'TOCK_DASHBOARD_METRICS_TOKEN must have',
    );
  });

  it('comes from the environment, and is none by default', () => {
    expect(readDashboardSettings({ TOCK_DASHBOARD_METRICS_TOKEN: ` ${TOKEN}\n` }).metricsToken).toBe(TOKEN);
    expect(readDashboardSettings({}).metricsToken).toBeNull();
  });
});
