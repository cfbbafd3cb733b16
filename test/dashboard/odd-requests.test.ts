// Requests with values that PostgreSQL does not take, or that are cut within a character.
import { beforeAll, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { type Pages, pagesOf } from './runs-kit.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined, schedule: { cron: '0 3 * * *' } });
const { test } = storeTest(NOW, () => reuseTestTock([mail]));
let pages: Pages;
beforeAll(() => {
  pages = pagesOf(test.tock, { role: 'admin' });
});

it.each([
  '/schedules?name=%00',
  '/schedules?job=%00',
  '/schedules/%00',
  '/queues/x?key=%00',
  '/runs.json?payload=a%3D1e999999',
  '/runs.csv?payload=a%3D1e999999',
  '/runs/retry-all?payload=a%3D1e999999',
])('%s is answered, and no error of the page', async path => {
  const { status } = await pages.get(path);
  expect(status).toBeLessThan(500);
});

it.each<[string, Record<string, string>]>([
  ['/runs/retry-all', { payload: 'a=1e999999' }],
  ['/runs/cancel-all', { payload: 'a=1e999999' }],
  ['/schedules', { act: 'pause', pause: 'x' }],
  ['/schedules', { act: 'pause', which: 'all', name: '\0' }],
  ['/schedules', { act: 'run', which: 'all', job: '\0' }],
  ['/schedules/%00/pause', {}],
  ['/schedules/%00/remove', { version: '1' }],
  ['/schedules/%00/backfill', { from: '2026-03-01', to: '2026-03-02' }],
  ['/schedules/%00/skip', { at: NOW }],
  ['/jobs/%00/run', {}],
  ['/queues/%00/pause', {}],
  ['/alerts/mute', { name: 'a\0', until: '1h' }],
  ['/alerts/unmute', { name: 'a\0' }],
  ['/doctor/forget', { host: 'a\0' }],
  ['/deploys/mark', { name: 'a\0' }],
])('a form to %s with %o is answered, and no error of the page', async (path, fields) => {
  const { status } = await pages.post(path, fields);
  expect(status).toBeLessThan(500);
});

it('what an action says may be cut within a character', async () => {
  expect((await pages.post('/alerts/unmute', { name: `a${'😀'.repeat(600)}` })).status).toBe(303);
});
