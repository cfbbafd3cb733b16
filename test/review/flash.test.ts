// Review: messages after actions.
import { beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { type Pages, pagesOf } from '../dashboard/runs-kit.js';
import { storeTest } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined });
const { test } = storeTest(NOW, () => reuseTestTock([mail]));
let pages: Pages;
beforeAll(() => {
  pages = pagesOf(test.tock, { role: 'admin' });
});

describe('flash', () => {
  it('an unmute of a name of a thousand emoji is no 500', async () => {
    const { status } = await pages.post('/alerts/unmute', { name: `a${'😀'.repeat(600)}` });
    expect(status).toBe(303);
  });
  it('a lone surrogate / NUL in a name', async () => {
    const { status } = await pages.post('/alerts/unmute', { name: 'a\u0000b' });
    expect(status).toBeLessThan(500);
    const m = await pages.post('/alerts/mute', { name: 'a\u0000b', until: '1h' });
    expect(m.status).toBeLessThan(500);
  });
  it.each([
    '/schedules?name=%00', '/schedules?job=%00&after=%00', '/jobs/%00', '/queues/%00', '/queues/%F0%9F%98%80', '/queues/%', '/queues/%ff',
    '/schedules/%00', '/schedules/%ff', '/schedules/%2e%2e%2f', '/audit?operator=%00', '/audit?target=%00', '/audit?before=x', '/audit?action=%00',
    '/queues?after=%00', '/alerts?before=x', '/errors?within=zzz', '/errors?kind=zzz', '/load?from=zzz', '/load?jitter=zzz', '/load?name=%00', '/workers?after=%00',
    '/deploys?before=%00', '/runs/find?q=%00', '/runs/find?q=%ED%A0%80', '/runs?job=%00', '/runs?tag=%00', '/runs?payload=a%3D%22%5Cu0000%22', '/runs?payload=a=1e400', '/runs?payload=a%3D1e999999', '/runs.json?payload=a%3D1e999999', '/runs.csv?job=%00',
    '/runs.csv?status=bogus', '/runs.json?limit=5&order=ended&status=queued', '/runs.csv?order=ended&status=queued', '/runs/1/changes', '/changes?job=%00', '/changes?from=zzz', '/runs?order=ended&after=5&status=dead', '/runs?before=5&after=3', '/runs?from=999999-01-01', '/runs?from=9999-12-31&to=0001-01-01',
    '/new-schedule', '/new-schedule?job=%00', '/schedules/x/edit', '/schedules/x/backfill?from=zzz', '/backfill', '/backfill?day=zzz', '/freeze', '/doctor', '/', '/metrics', '/healthz?max_age=zzz', '/healthz?max_age=999999999d', '/runs?group=5', '/runs?deploy=%00', '/queues/x?key=%00', '/runs/0', '/runs/000000000000000001', '/runs/999999999999999999',
    '/queues/default?after=zzz', '/queues/default?limit=zzz','/runs?limit=0', '/workers', '/schedules?sort=zzz&state=zzz', '/schedules?after=zzz&sort=next', '/schedules?after=%00&sort=next',
  ])('%s is no 500', async path => {
    const { status } = await pages.get(path);
    expect(status, path).toBeLessThan(500);
  });
});
